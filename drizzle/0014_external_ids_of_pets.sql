ALTER TABLE `pets` ADD `external_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `pets_external_id_idx` ON `pets` (`external_id`) WHERE external_id IS NOT NULL;