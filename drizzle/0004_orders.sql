CREATE TABLE `orders` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`pet_id` integer NOT NULL,
	`status` text NOT NULL,
	`created_at` text NOT NULL,
	`ship_date` text,
	`version` integer DEFAULT 1 NOT NULL,
	CONSTRAINT "orders_pet_id_check" CHECK(typeof("orders"."pet_id") = 'integer'),
	CONSTRAINT "orders_ship_date_check" CHECK("orders"."status" <> 'shipped' OR "orders"."ship_date" IS NOT NULL)
);
--> statement-breakpoint
CREATE UNIQUE INDEX `orders_active_idx` ON `orders` (`pet_id`) WHERE status <> 'cancelled';--> statement-breakpoint
CREATE INDEX `orders_cancelled_idx` ON `orders` (`pet_id`) WHERE status = 'cancelled';--> statement-breakpoint
CREATE INDEX `orders_status_idx` ON `orders` (`status`);