CREATE TABLE `webhooks` (
	`id` integer PRIMARY KEY AUTOINCREMENT NOT NULL,
	`tag` integer NOT NULL,
	`url` text NOT NULL,
	`types` text NOT NULL,
	`enabled` integer DEFAULT 1 NOT NULL,
	`disabled_reason` text,
	`created_by` text NOT NULL,
	`created_at` text NOT NULL,
	`place` text NOT NULL,
	`version` integer DEFAULT 1 NOT NULL
);
