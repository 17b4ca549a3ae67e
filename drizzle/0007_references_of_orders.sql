ALTER TABLE `orders` ADD `reference` text;--> statement-breakpoint
CREATE INDEX `orders_reference_status_idx` ON `orders` (`reference`,`status`) WHERE reference IS NOT NULL;
