CREATE TABLE `live_hubs` (
	`name` text PRIMARY KEY NOT NULL
);
