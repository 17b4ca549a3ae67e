ALTER TABLE `pets` ADD `folded` text;--> statement-breakpoint
ALTER TABLE `pets` ADD `folded_of` text;--> statement-breakpoint
CREATE INDEX `pets_unfilled_idx` ON `pets` (`id`) WHERE coalesce(folded_of <> '1' || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name));