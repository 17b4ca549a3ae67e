ALTER TABLE `orders` ADD `customer` text;--> statement-breakpoint
CREATE INDEX `orders_customer_status_idx` ON `orders` (`customer`,`status`) WHERE customer IS NOT NULL;