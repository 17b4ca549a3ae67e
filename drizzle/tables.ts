// The tables with their indexes and checks, from which `npm run generate:migration` makes the migrations. The Worker needs the columns
// alone.
import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { check, index, sqliteTable, uniqueIndex } from "drizzle-orm/sqlite-core";
import { categoryColumns, MAX_DESCRIPTION_CHARACTERS } from "../src/categories/table.ts";
import { entryColumns } from "../src/idempotency/table.ts";
import { MAX_NAME_CHARACTERS } from "../src/name.ts";
import { inventoryColumns, orderColumns } from "../src/orders/table.ts";
import { indexColumns, isUnfilled, PET_STATUSES, petColumns } from "../src/pets/table.ts";

export { events } from "../src/feed/table.ts";
export { liveHubs } from "../src/live/table.ts";
export { webhooks } from "../src/webhooks/table.ts";

/**
 * The rule of a text column, for writers that bypass the API. Counts bytes, because SQLite's length() of a text stops at the
 * first NUL. A character has at most four bytes in UTF-8.
 */
function isTextOf(column: SQLWrapper, minBytes: number, maxCharacters: number): SQL {
  const bounds = sql.raw(`${minBytes} AND ${4 * maxCharacters}`);
  return sql`typeof(${column}) = 'text' AND length(CAST(${column} AS BLOB)) BETWEEN ${bounds}`;
}

export const pets = sqliteTable("pets", petColumns, (pet) => [
  // An index entry ends with the row's id, so the animals of a status are in id order and a filtered page reads only its rows.
  index("pets_status_idx").on(pet.status),
  // For all other filters: within a category, the animals of each status are in id order, and `listPets` merges them.
  index("pets_category_id_status_idx").on(pet.categoryId, pet.status),
  // An animal without an external id is not in it.
  uniqueIndex("pets_external_id_idx")
    .on(pet.externalId)
    .where(sql`external_id IS NOT NULL`),
  // Rows that this version writes are never in it.
  index("pets_unfolded_idx").on(pet.id).where(isUnfilled),
  // That of version 1.3.0, whose searches name it. A release after 1.4.0 may drop it.
  index("pets_unfilled_idx")
    .on(pet.id)
    .where(sql`coalesce(folded_of <> '1' || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name))`),
  // The rules of the API, for writers that bypass it.
  check("pets_name_check", isTextOf(pet.name, 1, MAX_NAME_CHARACTERS)),
  check("pets_category_id_check", sql`typeof(${pet.categoryId}) = 'integer'`),
  check(
    "pets_status_check",
    sql`${pet.status} IN (${sql.raw(PET_STATUSES.map((status) => `'${status}'`).join(", "))})`,
  ),
]);

export const categories = sqliteTable("categories", categoryColumns, (category) => [
  // SQLite compares texts byte for byte by default.
  uniqueIndex("categories_name_idx").on(category.name),
  check("categories_name_check", isTextOf(category.name, 1, MAX_NAME_CHARACTERS)),
  check(
    "categories_description_check",
    sql`${category.description} IS NULL OR (${isTextOf(category.description, 0, MAX_DESCRIPTION_CHARACTERS)})`,
  ),
]);

export const orders = sqliteTable("orders", orderColumns, (order) => [
  // Prevents a second sale of an animal, even if the service has a bug.
  uniqueIndex("orders_active_idx")
    .on(order.petId)
    .where(sql`status <> 'cancelled'`),
  // Each order is in one of these two indexes, so that placing an order writes only one.
  index("orders_cancelled_idx")
    .on(order.petId)
    .where(sql`status = 'cancelled'`),
  index("orders_status_idx").on(order.status),
  // An order without a reference is not in it.
  index("orders_reference_status_idx")
    .on(order.reference, order.status)
    .where(sql`reference IS NOT NULL`),
  // An order without a customer is not in it.
  index("orders_customer_status_idx")
    .on(order.customer, order.status)
    .where(sql`customer IS NOT NULL`),
  check("orders_pet_id_check", sql`typeof(${order.petId}) = 'integer'`),
  // No CHECK lists the states, because more may come, and SQLite can change a CHECK only by rewriting the whole table.
  check("orders_ship_date_check", sql`${order.status} <> 'shipped' OR ${order.shipDate} IS NOT NULL`),
]);

export const searchIndex = sqliteTable("search_index", indexColumns, () => [
  check("search_index_id_check", sql`id = 1`),
]);

export const inventory = sqliteTable("inventory", inventoryColumns, () => [check("inventory_id_check", sql`id = 1`)]);

export const idempotencyKeys = sqliteTable("idempotency_keys", entryColumns, (entry) => [
  uniqueIndex("idempotency_keys_key_idx").on(entry.apiKeyId, entry.key),
]);
