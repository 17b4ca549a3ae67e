// Written by npm run generate:statements.
/** The SQL of each statement by its name. A parameter is a colon and a name. */
export const STATEMENTS: { readonly [name: string]: string } = {
  "deleteCategory.remove": `delete from categories
where categories.id = iif(changes() = 1, :id, NULL)
returning 1 as deleted`,
  "purge.events": `delete from events
where events.id < (select max(oldest.id)
from (select events.id, events.created_at
from events
order by events.id asc
limit 5001) oldest
where oldest.created_at < strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-' || :days || ' days'))`,
  "purge.keys": `delete from idempotency_keys
where (idempotency_keys.id in (select idempotency_keys.id
from idempotency_keys
order by idempotency_keys.id asc
limit 5000) and idempotency_keys.created_at < unixepoch() - 86400)`,
  "live.unregister": `delete from live_hubs
where live_hubs.name = :name`,
  "deletePet.remove": `delete from pets
where pets.id = iif(changes() = 1, :id, NULL)
returning 1 as deleted`,
  "deleteWebhook.remove": `delete from webhooks
where (webhooks.id = :id and (:versions IS NULL OR webhooks.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT webhooks.version IN (SELECT value FROM json_each(:excluded))))
returning webhooks.id || '-' || webhooks.tag as name`,
  "createCategory.insert": `insert into categories (id, name, description, version)
select NULL as id, :name as name, :description as description, 1 as version
from (SELECT 1)
where (not exists (select 1
from categories
where (categories.name = :name and categories.id IS NOT NULL)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning CAST(categories.id AS TEXT) as id, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as response`,
  "createCategory.recordStored": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'category.created' as type, categories.version as version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from categories
where categories.id = iif(changes() = 1, (select idempotency_keys.resource_id
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)), NULL)
order by categories.id`,
  "createCategory.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'category.created' as type, categories.version as version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from categories
where categories.id = iif(changes() = 1, last_insert_rowid(), NULL)
order by categories.id`,
  "deleteCategory.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'category.deleted' as type, categories.version + 1 as version, json_object('id', categories.id) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from categories
where (categories.id = :id and (:versions IS NULL OR categories.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT categories.version IN (SELECT value FROM json_each(:excluded))) and not exists (select 1
from pets
where pets.category_id = :id))
order by categories.id`,
  "updateCategory.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'category.updated' as type, categories.version as version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from categories
where categories.id = iif(changes() = 1, :id, NULL)
order by categories.id`,
  "cancelOrder.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.cancelled' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, :id, NULL)
order by orders.id`,
  "placeOrder.ofCustomer.recordStored": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.placed' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, (select idempotency_keys.resource_id
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)), NULL)
order by orders.id`,
  "placeOrder.recordStored": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.placed' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, (select idempotency_keys.resource_id
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)), NULL)
order by orders.id`,
  "placeOrder.ofCustomer.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.placed' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, last_insert_rowid(), NULL)
order by orders.id`,
  "placeOrder.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.placed' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, last_insert_rowid(), NULL)
order by orders.id`,
  "updateOrder.ship.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.shipped' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, :id, NULL)
order by orders.id`,
  "updateOrder.label.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'order.updated' as type, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from orders
where orders.id = iif(changes() = 1, :id, NULL)
order by orders.id`,
  "createPets.recordStored": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.created' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where (pets.id > iif(changes() = 1, (select idempotency_keys.resource_id
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) - CAST(:count AS INTEGER), NULL) and pets.id <= (select idempotency_keys.resource_id
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
order by pets.id`,
  "createPets.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.created' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where (pets.id > iif(changes() = :count, (SELECT last_insert_rowid()) - CAST(:count AS INTEGER), NULL) and pets.id <= (SELECT last_insert_rowid()))
order by pets.id`,
  "importPets.recordCreated": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.created' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where (pets.id > iif(changes() = max(changes(), 1), (SELECT last_insert_rowid()) - CAST(changes() AS INTEGER), NULL) and pets.id <= (SELECT last_insert_rowid()))
order by pets.id`,
  "createPet.recordStored": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.created' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where pets.id = iif(changes() = 1, (select idempotency_keys.resource_id
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)), NULL)
order by pets.id`,
  "createPet.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.created' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where pets.id = iif(changes() = 1, last_insert_rowid(), NULL)
order by pets.id`,
  "deletePet.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.deleted' as type, pets.version + 1 as version, json_object('id', pets.id) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where (pets.id = :id and (:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled')))
order by pets.id`,
  "updatePets.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from (SELECT pets.id AS id, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) AS name, iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) AS category_id, iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) AS status, pets.version + ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id))) AS version, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded) AS folded, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of) AS folded_of, iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id) AS external_id, item.key AS place, (pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)) AS differs, (coalesce(pets.version = item.value ->> 'version', 1) AND NOT (iif(json_type(item.value, '$.status') IS NOT NULL, exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) NOT IN (pets.status, 'sold')))), 0) or iif(json_type(item.value, '$.externalId') IS NOT NULL, exists (select 1
from pets
where (pets.external_id = CAST(item.value ->> 'externalId' AS text) and pets.id IS NOT CAST(item.value ->> 'id' AS INTEGER))), 0))) AS met FROM json_each(iif((SELECT count(*) FROM json_each(:items) AS item CROSS JOIN pets ON pets.id = CAST(item.value ->> 'id' AS INTEGER) WHERE (coalesce(pets.version = item.value ->> 'version', 1) AND NOT (iif(json_type(item.value, '$.status') IS NOT NULL, exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) NOT IN (pets.status, 'sold')))), 0) or iif(json_type(item.value, '$.externalId') IS NOT NULL, exists (select 1
from pets
where (pets.external_id = CAST(item.value ->> 'externalId' AS text) and pets.id IS NOT CAST(item.value ->> 'id' AS INTEGER))), 0)))) = :count, :items, NULL)) AS item CROSS JOIN pets ON pets.id = CAST(item.value ->> 'id' AS INTEGER)) AS pets
where differs
order by pets.id`,
  "updatePets.recordStored": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from (SELECT pets.id AS id, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) AS name, iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) AS category_id, iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) AS status, pets.version + ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id))) AS version, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded) AS folded, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of) AS folded_of, iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id) AS external_id, item.key AS place, (pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)) AS differs, (coalesce(pets.version = item.value ->> 'version', 1) AND NOT (iif(json_type(item.value, '$.status') IS NOT NULL, exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) NOT IN (pets.status, 'sold')))), 0) or iif(json_type(item.value, '$.externalId') IS NOT NULL, exists (select 1
from pets
where (pets.external_id = CAST(item.value ->> 'externalId' AS text) and pets.id IS NOT CAST(item.value ->> 'id' AS INTEGER))), 0))) AS met FROM json_each(iif(changes() = 1, :items, NULL)) AS item CROSS JOIN pets ON pets.id = CAST(item.value ->> 'id' AS INTEGER)) AS pets
where differs
order by pets.id`,
  "importPets.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from (SELECT pets.id AS id, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) AS name, iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) AS category_id, iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) AS status, pets.version + ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status))) AS version, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded) AS folded, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of) AS folded_of, pets.external_id AS external_id, item.key AS place, (pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status)) AS differs, (coalesce(pets.version = item.value ->> 'version', 1) AND NOT iif(json_type(item.value, '$.status') IS NOT NULL, (pets.status IS NOT CAST(item.value ->> 'status' AS text) AND exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) <> 'sold')))), 0)) AS met FROM json_each(iif((SELECT count(*) FROM json_each(:items) AS item CROSS JOIN pets ON pets.external_id = item.value ->> 'externalId' WHERE (coalesce(pets.version = item.value ->> 'version', 1) AND NOT iif(json_type(item.value, '$.status') IS NOT NULL, (pets.status IS NOT CAST(item.value ->> 'status' AS text) AND exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) <> 'sold')))), 0))) = :count, :items, NULL)) AS item CROSS JOIN pets ON pets.external_id = item.value ->> 'externalId') AS pets
where differs
order by pets.id`,
  "cancelOrder.pet.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where pets.id = iif(changes() = 1, (select orders.pet_id
from orders
where orders.id = :id), NULL)
order by pets.id`,
  "updateOrder.pet.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where pets.id = iif(changes() = 1, (select orders.pet_id
from orders
where orders.id = :id), NULL)
order by pets.id`,
  "updatePet.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where pets.id = iif(changes() = 1, :id, NULL)
order by pets.id`,
  "placeOrder.pet.record": `insert into events (id, tag, type, version, data, created_at)
select NULL as id, random() & 4294967295 as tag, 'pet.updated' as type, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as data, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt
from pets
where pets.id = iif(changes() = 1, :petId, NULL)
order by pets.id`,
  "updateOrder.ship.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as response, orders.id as resourceId, unixepoch() as createdAt, orders.version as version
from orders
where (orders.id = :id and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) and (iif(changes() = 1, 1, NULL) or ((:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))) and not iif(instr(:named, ',status,'), orders.status = 'cancelled', 0))))
returning 1 as stored`,
  "updateOrder.label.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as response, orders.id as resourceId, unixepoch() as createdAt, orders.version as version
from orders
where (orders.id = :id and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) and (iif(changes() = 1, 1, NULL) or ((:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))) and not orders.status <> coalesce(:status, orders.status))))
returning 1 as stored`,
  "placeOrder.ofCustomer.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as response, orders.id as resourceId, unixepoch() as createdAt, orders.version as version
from orders
where orders.id = iif(changes() = 1, last_insert_rowid(), NULL)`,
  "placeOrder.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as response, orders.id as resourceId, unixepoch() as createdAt, orders.version as version
from orders
where orders.id = iif(changes() = 1, last_insert_rowid(), NULL)`,
  "updateCategory.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as response, categories.id as resourceId, unixepoch() as createdAt, categories.version as version
from categories
where (categories.id = :id and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) and (iif(changes() = 1, 1, NULL) or ((:versions IS NULL OR categories.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT categories.version IN (SELECT value FROM json_each(:excluded))) and not iif(instr(:named, ',name,'), exists (select 1
from categories
where (categories.name = :name and categories.id IS NOT :id)), 0))))
returning 1 as stored`,
  "createCategory.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as response, categories.id as resourceId, unixepoch() as createdAt, categories.version as version
from categories
where categories.id = iif(changes() = 1, last_insert_rowid(), NULL)`,
  "updatePet.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as response, pets.id as resourceId, unixepoch() as createdAt, pets.version as version
from pets
where (pets.id = :id and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) and (iif(changes() = 1, 1, NULL) or ((:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not (iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) or iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0)))))
returning 1 as stored`,
  "createPet.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as response, pets.id as resourceId, unixepoch() as createdAt, pets.version as version
from pets
where pets.id = iif(changes() = 1, last_insert_rowid(), NULL)`,
  "updateWebhook.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as response, webhooks.id as resourceId, unixepoch() as createdAt, webhooks.version as version
from webhooks
where (webhooks.id = :id and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) and (iif(changes() = 1, 1, NULL) or ((:versions IS NULL OR webhooks.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT webhooks.version IN (SELECT value FROM json_each(:excluded))) and not (:readable IS NOT NULL AND (SELECT value FROM json_each(iif(instr(:named, ',types,'), :types, webhooks.types)) WHERE value NOT IN (SELECT value FROM json_each(:readable)) LIMIT 1) IS NOT NULL))))
returning 1 as stored`,
  "createWebhook.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as response, webhooks.id as resourceId, unixepoch() as createdAt, webhooks.version as version
from webhooks
where webhooks.id = iif(changes() = 1, last_insert_rowid(), NULL)`,
  "createPets.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, json_group_array(json(iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id)))) ORDER BY pets.id) as response, max(pets.id) as resourceId, unixepoch() as createdAt, pets.version as version
from pets
where (pets.id > iif(changes() = :count, (SELECT last_insert_rowid()) - CAST(:count AS INTEGER), NULL) and pets.id <= (SELECT last_insert_rowid())) having count(*) = :count`,
  "updatePets.store": `insert into idempotency_keys (id, api_key_id, idempotency_key, fingerprint, response, resource_id, created_at, version)
select NULL as id, :apiKeyId as apiKeyId, :idempotencyKey as key, :fingerprint as fingerprint, json_group_array(json(json_insert(iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))), '$.version', pets.version)) ORDER BY place) as response, max(pets.id) as resourceId, unixepoch() as createdAt, pets.version as version
from (SELECT pets.id AS id, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) AS name, iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) AS category_id, iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) AS status, pets.version + ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id))) AS version, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded) AS folded, iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of) AS folded_of, iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id) AS external_id, item.key AS place, (pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)) AS differs, (coalesce(pets.version = item.value ->> 'version', 1) AND NOT (iif(json_type(item.value, '$.status') IS NOT NULL, exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) NOT IN (pets.status, 'sold')))), 0) or iif(json_type(item.value, '$.externalId') IS NOT NULL, exists (select 1
from pets
where (pets.external_id = CAST(item.value ->> 'externalId' AS text) and pets.id IS NOT CAST(item.value ->> 'id' AS INTEGER))), 0))) AS met FROM json_each(iif(not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)), :items, NULL)) AS item CROSS JOIN pets ON pets.id = CAST(item.value ->> 'id' AS INTEGER)) AS pets having sum(met) = :count
returning 1 as stored`,
  "getInventory.renew": `insert into inventory (id, available, pending, sold, counted_at) SELECT 1, (SELECT count(*) FROM pets WHERE pets.status = 'available'), (SELECT count(*) FROM pets WHERE pets.status = 'pending'), (SELECT count(*) FROM pets WHERE pets.status = 'sold'), CAST(round(unixepoch('subsec') * 1000) AS INTEGER) WHERE NOT EXISTS (select inventory.id
from inventory
where (CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - inventory.counted_at >= 0 and CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - inventory.counted_at < max(10000, (inventory.available + inventory.pending + inventory.sold) / 20)))
on conflict (inventory.id) do update
set available = excluded.available, pending = excluded.pending, sold = excluded.sold, counted_at = excluded.counted_at`,
  "live.register": `insert into live_hubs (name)
values (:name)
on conflict do nothing`,
  "placeOrder.ofCustomer.insert": `insert into orders (id, pet_id, status, created_at, ship_date, version, reference, customer)
select NULL as id, pets.id as petId, 'placed' as status, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt, NULL as shipDate, 1 as version, :reference as reference, :customer as customer
from pets
where ((pets.id = :petId and pets.status = 'available') and not ((SELECT count(*) FROM (select 1
from orders
where (orders.customer = :customer and orders.status = 'placed')
limit :maxPlaced)) >= :maxPlaced OR exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled'))) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning CAST(orders.id AS TEXT) as id, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as response`,
  "placeOrder.insert": `insert into orders (id, pet_id, status, created_at, ship_date, version, reference, customer)
select NULL as id, pets.id as petId, 'placed' as status, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt, NULL as shipDate, 1 as version, :reference as reference, :customer as customer
from pets
where ((pets.id = :petId and pets.status = 'available') and not exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled')) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning CAST(orders.id AS TEXT) as id, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as response`,
  "createPet.insert": `insert into pets (id, name, category_id, status, version, folded, folded_of, external_id)
select NULL as id, :name as name, :categoryId as categoryId, :status as status, 1 as version, :folded as folded, :foldedOf as foldedOf, :externalId as externalId
from (SELECT 1)
where (not exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT NULL)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning CAST(pets.id AS TEXT) as id, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as response`,
  "importPets.insert": `insert into pets (id, name, category_id, status, version, folded, folded_of, external_id)
select NULL as id, item.value ->> 'name' as name, item.value ->> 'categoryId' as categoryId, coalesce(item.value ->> 'status', 'available') as status, 1 as version, item.value ->> 'folded' as folded, item.value ->> 'foldedOf' as foldedOf, item.value ->> 'externalId' as externalId
from json_each(iif(EXISTS (SELECT 1 FROM json_each(:items) AS item CROSS JOIN pets ON pets.external_id = item.value ->> 'externalId' WHERE iif(json_type(item.value, '$.status') IS NOT NULL, (pets.status IS NOT CAST(item.value ->> 'status' AS text) AND exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) <> 'sold')))), 0)), NULL, :items)) AS item
where not exists (select 1
from pets
where pets.external_id = item.value ->> 'externalId')
order by item.key
returning CAST(pets.id AS TEXT) as id`,
  "createPets.insertOnce": `insert into pets (id, name, category_id, status, version, folded, folded_of, external_id)
select NULL as id, value ->> 'name' as name, value ->> 'categoryId' as categoryId, value ->> 'status' as status, 1 as version, value ->> 'folded' as folded, value ->> 'foldedOf' as foldedOf, value ->> 'externalId' as externalId
from json_each(:items)
where (not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)) and not exists (select key as place
from json_each(:ruled)
where exists (select 1
from pets
where (pets.external_id = value ->> 'externalId' and pets.id IS NOT NULL))))
order by key
returning 1 as inserted`,
  "createPets.insert": `insert into pets (id, name, category_id, status, version, folded, folded_of, external_id)
select NULL as id, value ->> 'name' as name, value ->> 'categoryId' as categoryId, value ->> 'status' as status, 1 as version, value ->> 'folded' as folded, value ->> 'foldedOf' as foldedOf, value ->> 'externalId' as externalId
from json_each(:items)
where not exists (select key as place
from json_each(:ruled)
where exists (select 1
from pets
where (pets.external_id = value ->> 'externalId' and pets.id IS NOT NULL)))
order by key
returning CAST(pets.id AS TEXT) as id, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as response`,
  "createPet.insert.plain": `insert into pets (id, name, category_id, status, version, folded, folded_of, external_id)
values (null, :name, :categoryId, :status, 1, :folded, :foldedOf, :externalId)
returning CAST(pets.id AS TEXT) as id, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as response`,
  "createWebhook.insert": `insert into webhooks (id, tag, url, types, enabled, disabled_reason, created_by, created_at, place, version, concurrency)
select NULL as id, :tag as tag, :url as url, :types as types, 1 as enabled, NULL as disabledReason, :createdBy as createdBy, strftime('%Y-%m-%dT%H:%M:%fZ', 'now') as createdAt, ((select printf('%016x%08x', events.id, events.tag) as place
from events
order by events.id desc
limit 1)) as place, 1 as version, :concurrency as concurrency
from (SELECT 1)
where (not ((select count(*)
from webhooks)) >= 10 and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning CAST(webhooks.id AS TEXT) as id, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as response`,
  "placeOrder.ofCustomer.reason": `select (SELECT count(*) FROM (select 1
from orders
where (orders.customer = :customer and orders.status = 'placed')
limit :maxPlaced)) >= :maxPlaced as reason
from (SELECT 1)`,
  "updateCategory.select": `select CAST(categories.id AS TEXT) as id, categories.version as version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as body, iif(instr(:named, ',name,'), exists (select 1
from categories
where (categories.name = :name and categories.id IS NOT :id)), 0) as broken0
from categories
where categories.id = :id`,
  "listCategories.-id": `select CAST(categories.id AS TEXT) as id, categories.version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as body
from categories
where categories.id < :after
order by categories.id desc
limit CAST(:limit AS INTEGER)`,
  "getCategory.select": `select CAST(categories.id AS TEXT) as id, categories.version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as body
from categories
where categories.id = :id`,
  "listCategories.id": `select CAST(categories.id AS TEXT) as id, categories.version, iif(categories.description IS NULL, json_object('id', categories.id, 'name', categories.name), json_patch(json_object('id', categories.id, 'name', categories.name), json_object('description', categories.description))) as body
from categories
where categories.id > :after
order by categories.id asc
limit CAST(:limit AS INTEGER)`,
  "updateOrder.ship.select": `select CAST(orders.id AS TEXT) as id, orders.version as version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, iif(instr(:named, ',status,'), orders.status = 'cancelled', 0) as broken0
from orders
where orders.id = :id`,
  "listOrders.byCustomerAndStatus.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.customer = :customer and orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id asc
limit CAST(:limit AS INTEGER)`,
  "listOrders.byCustomerAndStatus.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.customer = :customer and orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id desc
limit CAST(:limit AS INTEGER)`,
  "getOrder.select": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.id = :id and (:customer IS NULL OR orders.customer = :customer))`,
  "listOrders.all.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore)
order by orders.id asc
limit CAST(:limit AS INTEGER)`,
  "listOrders.all.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore)
order by orders.id desc
limit CAST(:limit AS INTEGER)`,
  "listOrders.activeOfPet.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.pet_id = :petId and orders.status <> 'cancelled' and orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id asc
limit CAST(:limit AS INTEGER)`,
  "listOrders.activeOfPet.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.pet_id = :petId and orders.status <> 'cancelled' and orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id desc
limit CAST(:limit AS INTEGER)`,
  "listOrders.cancelledOfPet.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.pet_id = :petId and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id asc
limit CAST(:limit AS INTEGER)`,
  "listOrders.cancelledOfPet.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.pet_id = :petId and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id desc
limit CAST(:limit AS INTEGER)`,
  "listOrders.byReferenceAndStatus.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.reference = :reference and orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id asc
limit CAST(:limit AS INTEGER)`,
  "listOrders.byReferenceAndStatus.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.reference = :reference and orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id desc
limit CAST(:limit AS INTEGER)`,
  "listOrders.byStatus.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id asc
limit CAST(:limit AS INTEGER)`,
  "listOrders.byStatus.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body
from orders
where (orders.status = :status and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by orders.id desc
limit CAST(:limit AS INTEGER)`,
  "listOrders.byCustomer.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.customer = :customer and orders.status = 'placed' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.customer = :customer and orders.status = 'shipped' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.customer = :customer and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by position DESC
limit CAST(:limit AS INTEGER)`,
  "listOrders.byCustomer.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.customer = :customer and orders.status = 'placed' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.customer = :customer and orders.status = 'shipped' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.customer = :customer and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by position
limit CAST(:limit AS INTEGER)`,
  "listOrders.byPet.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.pet_id = :petId and orders.status <> 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.pet_id = :petId and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by position DESC
limit CAST(:limit AS INTEGER)`,
  "listOrders.byPet.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.pet_id = :petId and orders.status <> 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.pet_id = :petId and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by position
limit CAST(:limit AS INTEGER)`,
  "listOrders.byReference.-id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.reference = :reference and orders.status = 'placed' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.reference = :reference and orders.status = 'shipped' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.reference = :reference and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by position DESC
limit CAST(:limit AS INTEGER)`,
  "listOrders.byReference.id": `select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.reference = :reference and orders.status = 'placed' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.reference = :reference and orders.status = 'shipped' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
union all
select CAST(orders.id AS TEXT) as id, orders.version, iif((orders.reference IS NULL and orders.customer IS NULL), json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_patch(json_object('id', orders.id, 'petId', orders.pet_id, 'quantity', 1, 'status', orders.status, 'createdAt', orders.created_at, 'shipDate', orders.ship_date, 'complete', json(iif(orders.status = 'shipped', 'true', 'false'))), json_object('reference', orders.reference, 'customer', orders.customer))) as body, orders.id as position
from orders
where (orders.reference = :reference and orders.status = 'cancelled' and (orders.id > :first and orders.id <= :last and orders.created_at >= :createdAfter and orders.created_at < :createdBefore))
order by position
limit CAST(:limit AS INTEGER)`,
  "foldNames.select": `select CAST(pets.id AS TEXT) as id, pets.name as name
from pets INDEXED BY pets_unfolded_idx
where (coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) and pets.id > :after)
order by pets.id
limit 1000`,
  "updatePet.select": `select CAST(pets.id AS TEXT) as id, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) as broken0, iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0) as broken1
from pets
where pets.id = :id`,
  "importPets.select": `select CAST(pets.id AS TEXT) as id, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, iif(json_type(item.value, '$.status') IS NOT NULL, (pets.status IS NOT CAST(item.value ->> 'status' AS text) AND exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) <> 'sold')))), 0) as broken0, item.key as place
from json_each(:items) AS item CROSS JOIN pets ON pets.external_id = item.value ->> 'externalId'
order by item.key`,
  "updatePets.select": `select CAST(pets.id AS TEXT) as id, pets.version as version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, iif(json_type(item.value, '$.status') IS NOT NULL, exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or CAST(item.value ->> 'status' AS text) NOT IN (pets.status, 'sold')))), 0) as broken0, iif(json_type(item.value, '$.externalId') IS NOT NULL, exists (select 1
from pets
where (pets.external_id = CAST(item.value ->> 'externalId' AS text) and pets.id IS NOT CAST(item.value ->> 'id' AS INTEGER))), 0) as broken1
from json_each(iif(not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)), :items, NULL)) AS item CROSS JOIN pets ON pets.id = CAST(item.value ->> 'id' AS INTEGER)`,
  "listPets.byCategoryAndStatus.-id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.category_id = :categoryId and pets.status = :status and pets.id < :after)
order by pets.id desc
limit CAST(:limit AS INTEGER)`,
  "listPets.byCategoryAndStatus.id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.category_id = :categoryId and pets.status = :status and pets.id > :after)
order by pets.id asc
limit CAST(:limit AS INTEGER)`,
  "listPets.byExternalId.-id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.external_id = :externalId and ((:categoryId is null or pets.category_id = :categoryId) and (:status is null or pets.status = :status)) and pets.id < :after)
order by pets.id desc
limit CAST(:limit AS INTEGER)`,
  "listPets.byExternalId.id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.external_id = :externalId and ((:categoryId is null or pets.category_id = :categoryId) and (:status is null or pets.status = :status)) and pets.id > :after)
order by pets.id asc
limit CAST(:limit AS INTEGER)`,
  "listPets.byIds.id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.id IN (SELECT value FROM json_each(:ids)) and ((:categoryId is null or pets.category_id = :categoryId) and (:status is null or pets.status = :status)))
order by pets.id asc
limit CAST(:limit AS INTEGER)`,
  "listPets.byIds.-id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.id IN (SELECT value FROM json_each(:ids)) and ((:categoryId is null or pets.category_id = :categoryId) and (:status is null or pets.status = :status)))
order by pets.id desc
limit CAST(:limit AS INTEGER)`,
  "listPets.byStatus.-id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.status = :status and pets.id < :after)
order by pets.id desc
limit CAST(:limit AS INTEGER)`,
  "listPets.byStatus.id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where (pets.status = :status and pets.id > :after)
order by pets.id asc
limit CAST(:limit AS INTEGER)`,
  "listPets.all.-id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where pets.id < :after
order by pets.id desc
limit CAST(:limit AS INTEGER)`,
  "getPet.select": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where pets.id = :id`,
  "listPets.all.id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body
from pets
where pets.id > :after
order by pets.id asc
limit CAST(:limit AS INTEGER)`,
  "listPets.byCategory.-id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, pets.id as position
from pets
where (pets.category_id = :categoryId and pets.status = 'available' and pets.id < :after)
union all
select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, pets.id as position
from pets
where (pets.category_id = :categoryId and pets.status = 'pending' and pets.id < :after)
union all
select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, pets.id as position
from pets
where (pets.category_id = :categoryId and pets.status = 'sold' and pets.id < :after)
order by position DESC
limit CAST(:limit AS INTEGER)`,
  "listPets.byCategory.id": `select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, pets.id as position
from pets
where (pets.category_id = :categoryId and pets.status = 'available' and pets.id > :after)
union all
select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, pets.id as position
from pets
where (pets.category_id = :categoryId and pets.status = 'pending' and pets.id > :after)
union all
select CAST(pets.id AS TEXT) as id, pets.version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) as body, pets.id as position
from pets
where (pets.category_id = :categoryId and pets.status = 'sold' and pets.id > :after)
order by position
limit CAST(:limit AS INTEGER)`,
  "updateWebhook.select": `select CAST(webhooks.id AS TEXT) as id, webhooks.version as version, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as body, iif(:readable IS NULL, NULL, (SELECT value FROM json_each(iif(instr(:named, ',types,'), :types, webhooks.types)) WHERE value NOT IN (SELECT value FROM json_each(:readable)) LIMIT 1)) as broken0, webhooks.id || '-' || webhooks.tag as name
from webhooks
where webhooks.id = :id`,
  "listWebhooks.-id": `select CAST(webhooks.id AS TEXT) as id, webhooks.version, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as body
from webhooks
where webhooks.id < :after
order by webhooks.id desc
limit CAST(:limit AS INTEGER)`,
  "getWebhook.select": `select CAST(webhooks.id AS TEXT) as id, webhooks.version, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as body
from webhooks
where webhooks.id = :id`,
  "listWebhooks.id": `select CAST(webhooks.id AS TEXT) as id, webhooks.version, iif(webhooks.disabled_reason IS NULL, json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_patch(json_object('id', webhooks.id, 'url', webhooks.url, 'types', json(webhooks.types), 'enabled', json(iif(webhooks.enabled, 'true', 'false')), 'createdBy', webhooks.created_by, 'createdAt', webhooks.created_at, 'concurrency', webhooks.concurrency), json_object('disabledReason', webhooks.disabled_reason))) as body
from webhooks
where webhooks.id > :after
order by webhooks.id asc
limit CAST(:limit AS INTEGER)`,
  "deletePet.select": `select exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled')) as broken
from pets
where pets.id = :id`,
  "deleteCategory.select": `select exists (select 1
from pets
where pets.category_id = :id) as broken
from categories
where categories.id = :id`,
  "listPets.byCategory.search.-id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid < CAST(:after AS INTEGER) ORDER BY rowid DESC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid < CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id < CAST(:after AS INTEGER)
        ORDER BY 1 DESC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = 'available' and pets.id < :after) UNION ALL SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = 'pending' and pets.id < :after) UNION ALL SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = 'sold' and pets.id < :after)
        ORDER BY 1 DESC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE (((pets.category_id = :categoryId and pets.status = 'available') or (pets.category_id = :categoryId and pets.status = 'pending') or (pets.category_id = :categoryId and pets.status = 'sold')) and (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id)))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.byCategoryAndStatus.search.-id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid < CAST(:after AS INTEGER) ORDER BY rowid DESC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid < CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id < CAST(:after AS INTEGER)
        ORDER BY 1 DESC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = :status and pets.id < :after)
        ORDER BY 1 DESC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE ((pets.category_id = :categoryId and pets.status = :status) and (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id)))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.byStatus.search.-id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid < CAST(:after AS INTEGER) ORDER BY rowid DESC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid < CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id < CAST(:after AS INTEGER)
        ORDER BY 1 DESC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE (pets.status = :status and pets.id < :after)
        ORDER BY 1 DESC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE (pets.status = :status and (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id)))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.all.search.-id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid < CAST(:after AS INTEGER) ORDER BY rowid DESC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid < CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id < CAST(:after AS INTEGER)
        ORDER BY 1 DESC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE pets.id < :after
        ORDER BY 1 DESC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.byCategory.search.id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid > CAST(:after AS INTEGER) ORDER BY rowid ASC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid > CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id > CAST(:after AS INTEGER)
        ORDER BY 1 ASC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = 'available' and pets.id > :after) UNION ALL SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = 'pending' and pets.id > :after) UNION ALL SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = 'sold' and pets.id > :after)
        ORDER BY 1 ASC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE (((pets.category_id = :categoryId and pets.status = 'available') or (pets.category_id = :categoryId and pets.status = 'pending') or (pets.category_id = :categoryId and pets.status = 'sold')) and (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id)))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.byCategoryAndStatus.search.id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid > CAST(:after AS INTEGER) ORDER BY rowid ASC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid > CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id > CAST(:after AS INTEGER)
        ORDER BY 1 ASC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE (pets.category_id = :categoryId and pets.status = :status and pets.id > :after)
        ORDER BY 1 ASC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE ((pets.category_id = :categoryId and pets.status = :status) and (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id)))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.byStatus.search.id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid > CAST(:after AS INTEGER) ORDER BY rowid ASC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid > CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id > CAST(:after AS INTEGER)
        ORDER BY 1 ASC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE (pets.status = :status and pets.id > :after)
        ORDER BY 1 ASC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE (pets.status = :status and (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id)))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "listPets.all.search.id": `select found.id as id, found.version as version, found.body as body, found.more as more
from (WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = '2' AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - 2000),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(:terms) = 1 OR EXISTS (
      SELECT 1 FROM json_each(:terms) AS term
      WHERE NOT EXISTS (SELECT 1 FROM pets_words WHERE pets_words MATCH term.value AND rowid > CAST(:after AS INTEGER) ORDER BY rowid ASC LIMIT 1 OFFSET 10000)),
      :match, json_extract(:terms, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(200, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), 200))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id FROM pets_words WHERE pets_words MATCH (SELECT expression FROM asked) AND rowid > CAST(:after AS INTEGER)
        UNION SELECT id FROM changed WHERE id > CAST(:after AS INTEGER)
        ORDER BY 1 ASC LIMIT 10000 * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (SELECT pets.id FROM pets WHERE pets.id > :after
        ORDER BY 1 ASC LIMIT 10000 * NOT EXISTS (SELECT 1 FROM present)))
    SELECT CAST(pets.id AS TEXT) AS id, pets.version AS version, iif(pets.external_id IS NULL, json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_patch(json_object('id', pets.id, 'name', pets.name, 'categoryId', pets.category_id, 'status', pets.status), json_object('externalId', pets.external_id))) AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON pets.id = examined.id
      WHERE (octet_length(text) > 96 OR instr(text, :word1) AND instr(text, :word2) AND instr(text, :word3) AND instr(text, :word4) AND instr(text, :word5) AND instr(text, :word6) AND instr(text, :word7) AND instr(text, :word8)
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE coalesce(folded_of <> iif(name GLOB '*[·ʹ-ˁʹ·Ŀŀŉẚ]*', '2', '1') || name, name GLOB '*[^a-zA-Z0-9 ]*' OR length(name) <> octet_length(name)) AND id = examined.id))
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET 10000 - 1)
    LIMIT CAST(:limit AS INTEGER) + (SELECT more FROM unknown)) AS found`,
  "idempotency.entry": `select idempotency_keys.fingerprint, CAST(idempotency_keys.resource_id AS TEXT) as resourceId, idempotency_keys.response as response, idempotency_keys.version as version
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)`,
  "getInventory.select": `select inventory.available, inventory.pending, inventory.sold, CAST(round(unixepoch('subsec') * 1000) AS INTEGER) - inventory.counted_at as age, max(10000, (inventory.available + inventory.pending + inventory.sold) / 20) as lifetime
from inventory`,
  "createPets.places": `select key as place
from json_each(iif(changes() = 0, :ruled, NULL))
where exists (select 1
from pets
where (pets.external_id = value ->> 'externalId' and pets.id IS NOT NULL))
order by key`,
  "live.registered": `select live_hubs.name
from live_hubs
where live_hubs.name = :name`,
  "listOrders.lastBefore": `select min(max(last, CAST(:least AS INTEGER)), CAST(:most AS INTEGER)) as last
from (WITH search(last, rest) AS (SELECT 0, max(orders.id) FROM orders UNION ALL
      SELECT iif((SELECT orders.created_at < :time FROM orders WHERE orders.id >= last + rest - rest / 2 ORDER BY orders.id LIMIT 1),
        last + rest - rest / 2, last), rest / 2 FROM search WHERE rest > 0)
      SELECT last FROM search WHERE rest = 0) AS search`,
  "cancelOrder.select": `select orders.status, orders.version
from orders
where (orders.id = :id and (:customer IS NULL OR orders.customer = :customer))`,
  "feed.end": `select printf('%016x%08x', events.id, events.tag) as place
from events
order by events.id desc
limit 1`,
  "feed.from": `select printf('%016x%08x', events.id, events.tag) as place
from events
where events.id >= CAST(:id AS INTEGER)
order by events.id
limit 1`,
  "listEvents.latest": `select printf('%016x%08x', events.id, events.tag) as place, iif((instr(:types, ',' || events.type || ',') or instr(:types, ',' || substr(events.type, 1, instr(events.type, '.')) || ',')), json_object('id', 'evt_' || printf('%016x%08x', events.id, events.tag), 'type', events.type, 'timestamp', events.created_at, 'version', events.version, 'data', json(events.data)), NULL) as event, EXISTS (SELECT 1 FROM events WHERE events.id > (SELECT max(events.id) FROM events) + 500) as later
from events
where (events.id >= (SELECT max(events.id) FROM events) and events.id <= (SELECT max(events.id) FROM events) + 500 and ((instr(:types, ',' || events.type || ',') or instr(:types, ',' || substr(events.type, 1, instr(events.type, '.')) || ',')) or events.id = (SELECT max(events.id) FROM events) or events.id = (SELECT max(events.id) FROM events WHERE events.id <= (SELECT max(events.id) FROM events) + 500)))
order by events.id
limit CAST(:limit AS INTEGER)`,
  "listEvents.oldest": `select printf('%016x%08x', events.id, events.tag) as place, iif((instr(:types, ',' || events.type || ',') or instr(:types, ',' || substr(events.type, 1, instr(events.type, '.')) || ',')), json_object('id', 'evt_' || printf('%016x%08x', events.id, events.tag), 'type', events.type, 'timestamp', events.created_at, 'version', events.version, 'data', json(events.data)), NULL) as event, EXISTS (SELECT 1 FROM events WHERE events.id > (SELECT min(events.id) FROM events) + 500) as later
from events
where (events.id >= (SELECT min(events.id) FROM events) and events.id <= (SELECT min(events.id) FROM events) + 500 and ((instr(:types, ',' || events.type || ',') or instr(:types, ',' || substr(events.type, 1, instr(events.type, '.')) || ',')) or events.id = (SELECT min(events.id) FROM events) or events.id = (SELECT max(events.id) FROM events WHERE events.id <= (SELECT min(events.id) FROM events) + 500)))
order by events.id
limit CAST(:limit AS INTEGER)`,
  "listEvents.from": `select printf('%016x%08x', events.id, events.tag) as place, iif((instr(:types, ',' || events.type || ',') or instr(:types, ',' || substr(events.type, 1, instr(events.type, '.')) || ',')), json_object('id', 'evt_' || printf('%016x%08x', events.id, events.tag), 'type', events.type, 'timestamp', events.created_at, 'version', events.version, 'data', json(events.data)), NULL) as event, EXISTS (SELECT 1 FROM events WHERE events.id > CAST(:id AS INTEGER) + 500) as later
from events
where (events.id >= CAST(:id AS INTEGER) and events.id <= CAST(:id AS INTEGER) + 500 and ((instr(:types, ',' || events.type || ',') or instr(:types, ',' || substr(events.type, 1, instr(events.type, '.')) || ',')) or events.id = CAST(:id AS INTEGER) or events.id = (SELECT max(events.id) FROM events WHERE events.id <= CAST(:id AS INTEGER) + 500)))
order by events.id
limit CAST(:limit AS INTEGER)`,
  "live.feed": `select printf('%016x%08x', events.id, events.tag) as place, iif((substr(events.type, 1, instr(events.type, '.')) = 'pet.' or substr(events.type, 1, instr(events.type, '.')) = 'category.' or substr(events.type, 1, instr(events.type, '.')) = 'order.'), json_object('id', 'evt_' || printf('%016x%08x', events.id, events.tag), 'type', events.type, 'timestamp', events.created_at, 'version', events.version, 'data', json(events.data)), NULL) as event, EXISTS (SELECT 1 FROM events WHERE events.id > CAST(:first AS INTEGER) + 1000) as later, events.type as type, events.data ->> 'customer' as customer
from events
where (events.id >= CAST(:first AS INTEGER) and events.id <= CAST(:first AS INTEGER) + 1000 and ((substr(events.type, 1, instr(events.type, '.')) = 'pet.' or substr(events.type, 1, instr(events.type, '.')) = 'category.' or substr(events.type, 1, instr(events.type, '.')) = 'order.') or events.id = CAST(:first AS INTEGER) or events.id = (SELECT max(events.id) FROM events WHERE events.id <= CAST(:first AS INTEGER) + 1000)))
order by events.id
limit CAST(:limit AS INTEGER)`,
  "webhookEngine.wanted": `select printf('%016x%08x', events.id, events.tag) as place, iif(instr(((select webhooks.types
from webhooks
where (webhooks.id = :id and webhooks.tag = :tag))), '"' || events.type || '"'), json_object('id', 'evt_' || printf('%016x%08x', events.id, events.tag), 'type', events.type, 'timestamp', events.created_at, 'version', events.version, 'data', json(events.data)), NULL) as event, EXISTS (SELECT 1 FROM events WHERE events.id > max(CAST(:first AS INTEGER), coalesce((SELECT min(events.id) FROM events), 0)) + 5000) as later, events.type as type, substr(events.type, 1, instr(events.type, '.')) || (events.data ->> 'id') as resource
from events
where (events.id >= max(CAST(:first AS INTEGER), coalesce((SELECT min(events.id) FROM events), 0)) and events.id <= max(CAST(:first AS INTEGER), coalesce((SELECT min(events.id) FROM events), 0)) + 5000 and (instr(((select webhooks.types
from webhooks
where (webhooks.id = :id and webhooks.tag = :tag))), '"' || events.type || '"') or events.id = max(CAST(:first AS INTEGER), coalesce((SELECT min(events.id) FROM events), 0)) or events.id = (SELECT max(events.id) FROM events WHERE events.id <= max(CAST(:first AS INTEGER), coalesce((SELECT min(events.id) FROM events), 0)) + 5000)))
order by events.id
limit CAST(:limit AS INTEGER)`,
  "webhooks.enabled": `select webhooks.id || '-' || webhooks.tag as name
from webhooks
where webhooks.enabled = 1
union all
select live_hubs.name
from live_hubs`,
  "webhooks.object": `select webhooks.id || '-' || webhooks.tag as name, webhooks.enabled
from webhooks
where webhooks.id = :id`,
  "webhookEngine.configuration": `select webhooks.url, webhooks.types, webhooks.enabled, webhooks.place, webhooks.concurrency, (SELECT count(*) FROM webhooks AS peer WHERE peer.enabled = 1 AND substr(peer.url, 1, 8 + instr(substr(peer.url, 9), '/')) = substr(webhooks.url, 1, 8 + instr(substr(webhooks.url, 9), '/'))) as peers
from webhooks
where (webhooks.id = :id and webhooks.tag = :tag)`,
  "updateCategory.change": `update categories
set description = iif(instr(:named, ',description,'), :description, categories.description), version = categories.version + 1
where (categories.id = :id and categories.description IS NOT iif(instr(:named, ',description,'), :description, categories.description) and ((:versions IS NULL OR categories.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT categories.version IN (SELECT value FROM json_each(:excluded))) and not iif(instr(:named, ',name,'), exists (select 1
from categories
where (categories.name = :name and categories.id IS NOT :id)), 0)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updateCategory.change.name": `update categories
set name = iif(instr(:named, ',name,'), :name, categories.name), description = iif(instr(:named, ',description,'), :description, categories.description), version = categories.version + 1
where (categories.id = :id and (categories.description IS NOT iif(instr(:named, ',description,'), :description, categories.description) or categories.name IS NOT iif(instr(:named, ',name,'), :name, categories.name)) and ((:versions IS NULL OR categories.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT categories.version IN (SELECT value FROM json_each(:excluded))) and not iif(instr(:named, ',name,'), exists (select 1
from categories
where (categories.name = :name and categories.id IS NOT :id)), 0)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "cancelOrder.change": `update orders
set status = 'cancelled', version = orders.version + 1
where (orders.id = :id and orders.status = 'placed' and (:customer IS NULL OR orders.customer = :customer) and (:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))))
returning 1 as cancelled`,
  "updateOrder.ship.change.status.reference.customer": `update orders
set status = iif(instr(:named, ',status,'), :status, orders.status), ship_date = coalesce(:shipDate, strftime('%Y-%m-%dT%H:%M:%fZ', 'now')), version = orders.version + 1, reference = iif(instr(:named, ',reference,'), :reference, orders.reference), customer = iif(instr(:named, ',customer,'), :customer, orders.customer)
where (orders.id = :id and orders.status = 'placed' and ((:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))) and not iif(instr(:named, ',status,'), orders.status = 'cancelled', 0)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updateOrder.label.change.customer": `update orders
set version = orders.version + 1, customer = iif(instr(:named, ',customer,'), :customer, orders.customer)
where (orders.id = :id and orders.customer IS NOT iif(instr(:named, ',customer,'), :customer, orders.customer) and ((:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))) and not orders.status <> coalesce(:status, orders.status)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updateOrder.label.change.reference": `update orders
set version = orders.version + 1, reference = iif(instr(:named, ',reference,'), :reference, orders.reference)
where (orders.id = :id and orders.reference IS NOT iif(instr(:named, ',reference,'), :reference, orders.reference) and ((:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))) and not orders.status <> coalesce(:status, orders.status)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updateOrder.label.change.reference.customer": `update orders
set version = orders.version + 1, reference = iif(instr(:named, ',reference,'), :reference, orders.reference), customer = iif(instr(:named, ',customer,'), :customer, orders.customer)
where (orders.id = :id and (orders.reference IS NOT iif(instr(:named, ',reference,'), :reference, orders.reference) or orders.customer IS NOT iif(instr(:named, ',customer,'), :customer, orders.customer)) and ((:versions IS NULL OR orders.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT orders.version IN (SELECT value FROM json_each(:excluded))) and not orders.status <> coalesce(:status, orders.status)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "foldNames.fold": `update pets
set folded = row.value ->> 'folded', folded_of = row.value ->> 'foldedOf'
from json_each(:rows) AS row
where (pets.id = CAST(row.value ->> 'id' AS INTEGER) and pets.name = row.value ->> 'name')`,
  "updatePet.change.categoryId.status": `update pets
set name = iif(instr(:named, ',name,'), :name, pets.name), category_id = iif(instr(:named, ',categoryId,'), :categoryId, pets.category_id), status = iif(instr(:named, ',status,'), :status, pets.status), version = pets.version + 1, folded = iif(instr(:named, ',name,'), :folded, pets.folded), folded_of = iif(instr(:named, ',name,'), :foldedOf, pets.folded_of)
where (pets.id = :id and (pets.name IS NOT iif(instr(:named, ',name,'), :name, pets.name) or pets.category_id IS NOT iif(instr(:named, ',categoryId,'), :categoryId, pets.category_id) or pets.status IS NOT iif(instr(:named, ',status,'), :status, pets.status)) and ((:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not (iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) or iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0))) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updatePet.change.categoryId.status.externalId": `update pets
set name = iif(instr(:named, ',name,'), :name, pets.name), category_id = iif(instr(:named, ',categoryId,'), :categoryId, pets.category_id), status = iif(instr(:named, ',status,'), :status, pets.status), version = pets.version + 1, folded = iif(instr(:named, ',name,'), :folded, pets.folded), folded_of = iif(instr(:named, ',name,'), :foldedOf, pets.folded_of), external_id = iif(instr(:named, ',externalId,'), :externalId, pets.external_id)
where (pets.id = :id and (pets.name IS NOT iif(instr(:named, ',name,'), :name, pets.name) or pets.category_id IS NOT iif(instr(:named, ',categoryId,'), :categoryId, pets.category_id) or pets.status IS NOT iif(instr(:named, ',status,'), :status, pets.status) or pets.external_id IS NOT iif(instr(:named, ',externalId,'), :externalId, pets.external_id)) and ((:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not (iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) or iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0))) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updatePet.change.categoryId": `update pets
set name = iif(instr(:named, ',name,'), :name, pets.name), category_id = iif(instr(:named, ',categoryId,'), :categoryId, pets.category_id), version = pets.version + 1, folded = iif(instr(:named, ',name,'), :folded, pets.folded), folded_of = iif(instr(:named, ',name,'), :foldedOf, pets.folded_of)
where (pets.id = :id and (pets.name IS NOT iif(instr(:named, ',name,'), :name, pets.name) or pets.category_id IS NOT iif(instr(:named, ',categoryId,'), :categoryId, pets.category_id)) and ((:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not (iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) or iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0))) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updatePet.change": `update pets
set name = iif(instr(:named, ',name,'), :name, pets.name), version = pets.version + 1, folded = iif(instr(:named, ',name,'), :folded, pets.folded), folded_of = iif(instr(:named, ',name,'), :foldedOf, pets.folded_of)
where (pets.id = :id and pets.name IS NOT iif(instr(:named, ',name,'), :name, pets.name) and ((:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not (iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) or iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0))) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "updatePet.change.externalId": `update pets
set name = iif(instr(:named, ',name,'), :name, pets.name), version = pets.version + 1, folded = iif(instr(:named, ',name,'), :folded, pets.folded), folded_of = iif(instr(:named, ',name,'), :foldedOf, pets.folded_of), external_id = iif(instr(:named, ',externalId,'), :externalId, pets.external_id)
where (pets.id = :id and (pets.name IS NOT iif(instr(:named, ',name,'), :name, pets.name) or pets.external_id IS NOT iif(instr(:named, ',externalId,'), :externalId, pets.external_id)) and ((:versions IS NULL OR pets.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT pets.version IN (SELECT value FROM json_each(:excluded))) and not (iif(instr(:named, ',status,'), exists (select 1
from orders
where (orders.pet_id = pets.id and orders.status <> 'cancelled' and (orders.status = 'placed' or :status NOT IN (pets.status, 'sold')))), 0) or iif(instr(:named, ',externalId,'), exists (select 1
from pets
where (pets.external_id = :externalId and pets.id IS NOT :id)), 0))) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
  "importPets.change.categoryId.status": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), category_id = iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id), status = iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.external_id = item.value ->> 'externalId' AND ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status)))
returning CAST(pets.id AS TEXT) as id`,
  "updatePets.change.categoryId.status": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), category_id = iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id), status = iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.id = CAST(item.value ->> 'id' AS INTEGER) AND ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status)))
returning CAST(pets.id AS TEXT) as id`,
  "updatePets.change.categoryId.status.externalId": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), category_id = iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id), status = iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of), external_id = iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.id = CAST(item.value ->> 'id' AS INTEGER) AND ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id) or pets.status IS NOT iif(json_type(item.value, '$.status') IS NOT NULL, CAST(item.value ->> 'status' AS text), pets.status) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)))
returning CAST(pets.id AS TEXT) as id`,
  "importPets.change.categoryId": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), category_id = iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.external_id = item.value ->> 'externalId' AND ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id)))
returning CAST(pets.id AS TEXT) as id`,
  "updatePets.change.categoryId": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), category_id = iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.id = CAST(item.value ->> 'id' AS INTEGER) AND ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.category_id IS NOT iif(json_type(item.value, '$.categoryId') IS NOT NULL, CAST(item.value ->> 'categoryId' AS integer), pets.category_id)))
returning CAST(pets.id AS TEXT) as id`,
  "updatePets.change": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.id = CAST(item.value ->> 'id' AS INTEGER) AND (pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name))
returning CAST(pets.id AS TEXT) as id`,
  "updatePets.change.externalId": `update pets
set name = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name), version = pets.version + 1, folded = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'folded' AS text), pets.folded), folded_of = iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'foldedOf' AS text), pets.folded_of), external_id = iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)
from json_each(iif(changes() = max(changes(), 1), :items, NULL)) AS item
where pets.id = CAST(item.value ->> 'id' AS INTEGER) AND ((pets.name IS NOT iif(json_type(item.value, '$.name') IS NOT NULL, CAST(item.value ->> 'name' AS text), pets.name) or pets.external_id IS NOT iif(json_type(item.value, '$.externalId') IS NOT NULL, CAST(item.value ->> 'externalId' AS text), pets.external_id)))
returning CAST(pets.id AS TEXT) as id`,
  "cancelOrder.pet.change": `update pets
set status = 'available', version = pets.version + 1
where pets.id = iif(changes() = 1, (select orders.pet_id
from orders
where orders.id = :id), NULL)`,
  "placeOrder.pet.change": `update pets
set status = 'pending', version = pets.version + 1
where pets.id = iif(changes() = 1, :petId, NULL)`,
  "updateOrder.pet.change": `update pets
set status = 'sold', version = pets.version + 1
where pets.id = iif(changes() = 1, (select orders.pet_id
from orders
where orders.id = :id), NULL)`,
  "webhookEngine.disable": `update webhooks
set enabled = 0, disabled_reason = 'gone', version = webhooks.version + 1
where ((webhooks.id = :id and webhooks.tag = :tag) and webhooks.url = :url and webhooks.enabled = 1)`,
  "updateWebhook.change": `update webhooks
set url = iif(instr(:named, ',url,'), :url, webhooks.url), types = iif(instr(:named, ',types,'), :types, webhooks.types), enabled = iif(instr(:named, ',enabled,'), :enabled, webhooks.enabled), disabled_reason = iif(:enabled, NULL, webhooks.disabled_reason), version = webhooks.version + 1, concurrency = iif(instr(:named, ',concurrency,'), :concurrency, webhooks.concurrency)
where (webhooks.id = :id and (webhooks.url IS NOT iif(instr(:named, ',url,'), :url, webhooks.url) or webhooks.types IS NOT iif(instr(:named, ',types,'), :types, webhooks.types) or webhooks.enabled IS NOT iif(instr(:named, ',enabled,'), :enabled, webhooks.enabled) or webhooks.concurrency IS NOT iif(instr(:named, ',concurrency,'), :concurrency, webhooks.concurrency)) and ((:versions IS NULL OR webhooks.version IN (SELECT value FROM json_each(:versions))) AND (:excluded IS NULL OR NOT webhooks.version IN (SELECT value FROM json_each(:excluded))) and not (:readable IS NOT NULL AND (SELECT value FROM json_each(iif(instr(:named, ',types,'), :types, webhooks.types)) WHERE value NOT IN (SELECT value FROM json_each(:readable)) LIMIT 1) IS NOT NULL)) and not exists (select 1
from idempotency_keys
where (idempotency_keys.api_key_id = :apiKeyId and idempotency_keys.idempotency_key = :idempotencyKey)))
returning 1 as changed`,
};
