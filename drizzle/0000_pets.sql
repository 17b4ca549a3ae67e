CREATE TABLE `pets` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`name` text NOT NULL,
	`category_id` integer NOT NULL,
	`status` text NOT NULL,
	CONSTRAINT "pets_name_check" CHECK(typeof("pets"."name") = 'text' AND length(CAST("pets"."name" AS BLOB)) BETWEEN 1 AND 1020),
	CONSTRAINT "pets_category_id_check" CHECK(typeof("pets"."category_id") = 'integer'),
	CONSTRAINT "pets_status_check" CHECK("pets"."status" IN ('available', 'pending', 'sold'))
);
--> statement-breakpoint
CREATE INDEX `pets_status_idx` ON `pets` (`status`);