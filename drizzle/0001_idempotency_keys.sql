CREATE TABLE `idempotency_keys` (
	`id` integer PRIMARY KEY NOT NULL,
	`api_key_id` text NOT NULL,
	`idempotency_key` text NOT NULL,
	`fingerprint` text NOT NULL,
	`resource_id` integer NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `idempotency_keys_key_idx` ON `idempotency_keys` (`api_key_id`,`idempotency_key`);