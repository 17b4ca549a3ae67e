CREATE TABLE `inventory` (
	`id` integer PRIMARY KEY NOT NULL,
	`available` integer NOT NULL,
	`pending` integer NOT NULL,
	`sold` integer NOT NULL,
	`counted_at` integer NOT NULL,
	CONSTRAINT "inventory_id_check" CHECK(id = 1)
);
