CREATE TABLE `search_index` (
	`id` integer PRIMARY KEY NOT NULL,
	`rules` text NOT NULL,
	`place` integer NOT NULL,
	`filled_to` integer NOT NULL,
	`ready` integer NOT NULL,
	CONSTRAINT "search_index_id_check" CHECK(id = 1)
);
--> statement-breakpoint
CREATE INDEX `pets_unfolded_idx` ON `pets` (`id`) WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name));--> statement-breakpoint
-- One term for each beginning of each word: src/pets/terms.ts. The hourly job fills it, and the feed keeps it up to date.
CREATE VIRTUAL TABLE `pets_words` USING fts5(words, content='', contentless_delete=1, tokenize='ascii', detail=none);
--> statement-breakpoint
INSERT INTO `search_index` VALUES (1, '', 0, 0, 0);
