CREATE TABLE `categories` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`description` text,
	`version` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "categories_name_check" CHECK(typeof("categories"."name") = 'text' AND length(CAST("categories"."name" AS BLOB)) BETWEEN 1 AND 1020),
	CONSTRAINT "categories_description_check" CHECK("categories"."description" IS NULL OR (typeof("categories"."description") = 'text' AND length(CAST("categories"."description" AS BLOB)) BETWEEN 0 AND 8000))
);
--> statement-breakpoint
CREATE UNIQUE INDEX `categories_name_idx` ON `categories` (`name`);--> statement-breakpoint
ALTER TABLE `pets` ADD `version` integer DEFAULT 1 NOT NULL;--> statement-breakpoint
CREATE INDEX `pets_category_id_status_idx` ON `pets` (`category_id`,`status`);