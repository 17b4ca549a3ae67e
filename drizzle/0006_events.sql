CREATE TABLE `events` (
	`id` integer PRIMARY KEY NOT NULL,
	`tag` integer NOT NULL,
	`type` text NOT NULL,
	`version` integer NOT NULL,
	`data` text NOT NULL,
	`created_at` text NOT NULL
);

--> statement-breakpoint
-- Gives the feed a place to start from. No client sees this row.
INSERT INTO `events` (`tag`, `type`, `version`, `data`, `created_at`)
VALUES (random() & 4294967295, 'feed.started', 0, '{}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now'));
