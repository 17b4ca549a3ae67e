import { generateKey } from "../src/auth/key-format.ts";

/** The storage operations of a request, which determine its price and its round trips. */
export interface Cost {
  kvReads: number;
  d1RoundTrips: number;
  rowsRead: number;
  rowsWritten: number;
}

export const NOTHING: Cost = { kvReads: 0, d1RoundTrips: 0, rowsRead: 0, rowsWritten: 0 };
export const rows = (rowsRead: number, rowsWritten = 0): Cost => ({
  ...NOTHING,
  d1RoundTrips: 1,
  rowsRead,
  rowsWritten,
});

/**
 * Every kind of request, in the order in which test/cost.test.ts sends them. Raise a figure only on purpose. The tables of
 * docs/capacity.md are generated from them.
 */
export const COSTS = {
  "a list of 20": rows(21),
  "a list of 100": rows(101),
  "a list by status": rows(21),
  "a creation": rows(7, 5),
  "a creation with an Idempotency-Key": rows(12, 7),
  "a retry of a creation": rows(6),
  "another creation with a known Idempotency-Key": rows(6),
  "a list by a small category": rows(4),
  "a list by category": rows(23),
  "a list by category and status": rows(21),
  "a list of 100 ids": rows(300),
  "a list by all filters": rows(9),
  "an animal": rows(1),
  "an animal that has not changed": rows(1),
  "a list with versions, newest first": rows(21),
  "a read with max-age": rows(1),
  "a read from memory": NOTHING,
  "the presented key": NOTHING,
  "a batch of 100": rows(802, 401),
  "a batch of 100 with an Idempotency-Key": rows(1006, 403),
  "a retry of a batch": rows(108),
  "a change of a name": rows(5, 2),
  "a change of a status": rows(6, 4),
  "a change of a status with an Idempotency-Key": rows(11, 6),
  "a retry of a change": rows(8),
  "a change to the current values with an Idempotency-Key": rows(8, 2),
  "a change of everything": rows(7, 4),
  "a change of nothing": rows(1),
  "a change to the current values": rows(3),
  "a change with another version": rows(4),
  "a change of an unknown animal": rows(3),
  "a change of 100 names": rows(1300, 200),
  "a change of 100 names with an Idempotency-Key": rows(1205, 202),
  "a retry of a change of 100 names": rows(9),
  "a change of 100 names with other versions": rows(403),
  "a deletion": rows(5, 2),
  "a deletion of an unknown animal": rows(3),
  "a list of categories": rows(21),
  "a creation of a category": rows(8, 4),
  "a creation of a category with an Idempotency-Key": rows(12, 6),
  "a category with a name that another has": rows(6),
  "a new name of a category": rows(6, 3),
  "a new name of a category with an Idempotency-Key": rows(11, 5),
  "a new description of a category": rows(5, 2),
  "a name that another category has": rows(5),
  "a deletion of a category": rows(5, 2),
  "a deletion of a category that an animal names": rows(5),
  "an unknown animal": rows(1),
  "an id that is not an int64": NOTHING,
  "a query that breaks a rule": NOTHING,
  "a forged cursor": NOTHING,
  "a bad bookmark": NOTHING,
  "a body that breaks a rule": NOTHING,
  "a body of another media type": NOTHING,
  "a placement": rows(14, 9),
  "a placement with an Idempotency-Key": rows(18, 11),
  "a retry of a placement": rows(8),
  "a placement for an animal on order": rows(7),
  "a list of orders": rows(7),
  "a list of the orders of an animal": rows(2),
  "an order": rows(1),
  "a shipment": rows(11, 8),
  "a shipment repeated": rows(3),
  "a cancellation": rows(11, 8),
  "a cancellation repeated": rows(3),
  "a placement with a reference": rows(14, 10),
  "a new reference": rows(5, 3),
  "another reference": rows(5, 3),
  "the same reference": rows(3),
  "a list of the orders with a reference": rows(4),
  "a list of the placed orders with a reference": rows(2),
  "a shipment with another reference": rows(13, 9),
  "a cancellation of an order with a reference": rows(11, 9),
  "a patched status of an animal on order": rows(5),
  "a deletion of an animal on order": rows(5),
  "a shipment with an Idempotency-Key": rows(16, 10),
  "a patch of an order that changes nothing, with an Idempotency-Key": rows(6, 2),
  "a category": rows(1),
  "a search among 602 animals that finds nothing": rows(1_204),
  "an inventory of 602 animals": rows(608, 1),
  "an inventory from memory": NOTHING,
  "an inventory that another isolate counted": rows(3),
  "the newest place of the feed": rows(5),
  "a page of 100 events": rows(107),
  "a page of events of one type": rows(5_009),
  "a page of no new events": rows(2),
  "a list of webhooks": rows(1),
  "a creation of a webhook": rows(8, 2),
  "a webhook": rows(1),
  "a change of a webhook": rows(27, 1),
  "the state of a webhook": rows(1),
  "the secret of a webhook": rows(1),
  "a new secret of a webhook": rows(1),
  "a test of a webhook": rows(1),
  "a replay": rows(2),
  "the end of a replay": rows(1),
  "the deliveries of a webhook": rows(1),
  "a deletion of a webhook": rows(3, 1),
  "an unknown path": NOTHING,
  "an unsupported method": NOTHING,
  "a key of the wrong form": NOTHING,
  "a key of another environment": NOTHING,
  "an unknown key": { ...NOTHING, kvReads: 1 },
  "the health check": NOTHING,
} satisfies { [request: string]: Cost };
export type RequestKind = keyof typeof COSTS;

/** A request, with the key of the test unless it names another. */
export interface CostRequest {
  method?: string;
  key?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: object;
}

export const REX = { name: "Rex", categoryId: 1 };
const HOOK = { url: "https://hooks.shop.com/", types: ["category.deleted"] };
const HUNDRED = Array.from({ length: 100 }, () => REX);
const patch = (body: object, headers = {}): CostRequest => ({ method: "PATCH", body, headers });
/** Animals of a category that only lists name. */
const RENAMED = Array.from({ length: 100 }, (_, index) => ({ id: 301 + index, name: "Max", version: 1 }));
const RENAMED_AGAIN = patch(
  RENAMED.map(({ id }) => ({ id, name: "Bo" })),
  { "Idempotency-Key": "names" },
);
const CHANGE = patch({ status: "sold" }, { "Idempotency-Key": "change" });
export const create = (body: object, headers = {}): CostRequest => ({ method: "POST", body, headers });

/** The rows that the requests find. */
export const ROWS = [
  // The category of animal 1 is there.
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
   INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, iif(i = 1, 1, 1000 + i), 'available' FROM n`,
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
   INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, -1, CASE WHEN i % 2 THEN 'sold' ELSE 'pending' END FROM n`,
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
   INSERT INTO categories (name) SELECT 'Category ' || i FROM n`,
  `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 6000)
   INSERT INTO events (tag, type, version, data, created_at) SELECT i, 'pet.created', 1, '{"id":1,"name":"Rex","categoryId":1,"status":"sold"}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM n`,
];

/** The requests that come first. Their cost is not asked. */
export const BEFORE: [path: string, request: CostRequest][] = [
  ["/v1/pets", create(REX, { "Idempotency-Key": "known" })],
  ["/v1/store/orders", create({ petId: 23 }, { "Idempotency-Key": "order" })],
  ...[24, 25, 27].map((petId): [string, CostRequest] => ["/v1/store/orders", create({ petId })]),
  ["/v1/store/orders", create({ petId: 28, reference: "cart" })],
];

/** Stands for the cursor at the present end of the feed. */
export const END = "END";

export const REQUESTS: { [kind in RequestKind]: [status: number, path: string, request?: CostRequest] } = {
  "a list of 20": [200, "/v1/pets"],
  "a list of 100": [200, "/v1/pets?limit=100"],
  "a list by status": [200, "/v1/pets?status=available"],
  "a creation": [201, "/v1/pets", create(REX)],
  "a creation with an Idempotency-Key": [201, "/v1/pets", create(REX, { "Idempotency-Key": "new" })],
  "a retry of a creation": [201, "/v1/pets", create(REX, { "Idempotency-Key": "known" })],
  "another creation with a known Idempotency-Key": [
    422,
    "/v1/pets",
    create({ ...REX, name: "Max" }, { "Idempotency-Key": "known" }),
  ],
  "a list by a small category": [200, "/v1/pets?categoryId=1005"],
  "a list by category": [200, "/v1/pets?categoryId=-1"],
  "a list by category and status": [200, "/v1/pets?categoryId=-1&status=sold"],
  "a list of 100 ids": [200, `/v1/pets?limit=100${Array.from({ length: 100 }, (_, i) => `&id=${i + 1}`).join("")}`],
  "a list by all filters": [200, "/v1/pets?id=1&id=2&id=3&categoryId=1002&status=available"],
  "an animal": [200, "/v1/pets/1"],
  "an animal that has not changed": [304, "/v1/pets/1", { headers: { "If-None-Match": '"1"' } }],
  "a list with versions, newest first": [200, "/v1/pets?include=version&sort=-id"],
  "a read with max-age": [200, "/v1/pets/1", { headers: { "Cache-Control": "max-age=60" } }],
  "a read from memory": [200, "/v1/pets/1", { headers: { "Cache-Control": "max-age=60" } }],
  "the presented key": [200, "/v1/key"],
  "a batch of 100": [201, "/v1/pets/batch", create(HUNDRED)],
  "a batch of 100 with an Idempotency-Key": [201, "/v1/pets/batch", create(HUNDRED, { "Idempotency-Key": "batch" })],
  "a retry of a batch": [201, "/v1/pets/batch", create(HUNDRED, { "Idempotency-Key": "batch" })],
  "a change of a name": [200, "/v1/pets/7", patch({ name: "Max" })],
  "a change of a status": [200, "/v1/pets/8", patch({ status: "sold" })],
  "a change of a status with an Idempotency-Key": [200, "/v1/pets/11", CHANGE],
  "a retry of a change": [200, "/v1/pets/11", CHANGE],
  "a change to the current values with an Idempotency-Key": [
    200,
    "/v1/pets/12",
    patch({ status: "available" }, { "Idempotency-Key": "nothing" }),
  ],
  "a change of everything": [200, "/v1/pets/9", patch({ ...REX, status: "sold" }, { "If-Match": '"1"' })],
  "a change of nothing": [200, "/v1/pets/10", patch({})],
  "a change to the current values": [200, "/v1/pets/10", patch({ status: "available" })],
  "a change with another version": [412, "/v1/pets/10", patch({ name: "Max" }, { "If-Match": '"2"' })],
  "a change of an unknown animal": [404, "/v1/pets/999999", patch({ name: "Max" })],
  "a change of 100 names": [200, "/v1/pets/batch", patch(RENAMED)],
  "a change of 100 names with an Idempotency-Key": [200, "/v1/pets/batch", RENAMED_AGAIN],
  "a retry of a change of 100 names": [200, "/v1/pets/batch", RENAMED_AGAIN],
  "a change of 100 names with other versions": [412, "/v1/pets/batch", patch(RENAMED)],
  "a deletion": [204, "/v1/pets/11", { method: "DELETE" }],
  "a deletion of an unknown animal": [404, "/v1/pets/11", { method: "DELETE" }],
  "a list of categories": [200, "/v1/categories"],
  "a creation of a category": [201, "/v1/categories", create({ name: "New" })],
  "a creation of a category with an Idempotency-Key": [
    201,
    "/v1/categories",
    create({ name: "Newer" }, { "Idempotency-Key": "category" }),
  ],
  "a category with a name that another has": [409, "/v1/categories", create({ name: "New" })],
  "a new name of a category": [200, "/v1/categories/1", patch({ name: "Newest" })],
  "a new name of a category with an Idempotency-Key": [
    200,
    "/v1/categories/2",
    patch({ name: "Latest" }, { "Idempotency-Key": "name" }),
  ],
  "a new description of a category": [200, "/v1/categories/1", patch({ description: "New" })],
  "a name that another category has": [409, "/v1/categories/1", patch({ name: "New" })],
  "a deletion of a category": [204, "/v1/categories/30", { method: "DELETE" }],
  "a deletion of a category that an animal names": [409, "/v1/categories/1", { method: "DELETE" }],
  "an unknown animal": [404, "/v1/pets/999999"],
  "an id that is not an int64": [404, "/v1/pets/rex"],
  "a query that breaks a rule": [400, "/v1/pets?limit=0"],
  "a forged cursor": [400, "/v1/pets?cursor=AAAAAAAAAAAAAAAA"],
  "a bad bookmark": [400, "/v1/pets", { headers: { "x-d1-bookmark": "latest" } }],
  "a body that breaks a rule": [400, "/v1/pets", create({ name: "" })],
  "a body of another media type": [415, "/v1/pets", create(REX, { "Content-Type": "text/plain" })],
  "a placement": [201, "/v1/store/orders", create({ petId: 21 })],
  "a placement with an Idempotency-Key": [
    201,
    "/v1/store/orders",
    create({ petId: 22 }, { "Idempotency-Key": "placement" }),
  ],
  "a retry of a placement": [201, "/v1/store/orders", create({ petId: 23 }, { "Idempotency-Key": "order" })],
  "a placement for an animal on order": [409, "/v1/store/orders", create({ petId: 23 })],
  "a list of orders": [200, "/v1/store/orders"],
  "a list of the orders of an animal": [200, "/v1/store/orders?petId=23"],
  "an order": [200, "/v1/store/orders/1"],
  "a shipment": [200, "/v1/store/orders/2", patch({ status: "shipped" })],
  "a shipment repeated": [200, "/v1/store/orders/2", patch({ status: "shipped" })],
  "a cancellation": [204, "/v1/store/orders/3", { method: "DELETE" }],
  "a cancellation repeated": [204, "/v1/store/orders/3", { method: "DELETE" }],
  "a placement with a reference": [201, "/v1/store/orders", create({ petId: 26, reference: "basket" })],
  "a new reference": [200, "/v1/store/orders/4", patch({ reference: "cart" })],
  "another reference": [200, "/v1/store/orders/5", patch({ reference: "invoice" })],
  "the same reference": [200, "/v1/store/orders/5", patch({ reference: "invoice" })],
  "a list of the orders with a reference": [200, "/v1/store/orders?reference=cart"],
  "a list of the placed orders with a reference": [200, "/v1/store/orders?reference=cart&status=placed"],
  "a shipment with another reference": [200, "/v1/store/orders/5", patch({ status: "shipped", reference: "cart" })],
  "a cancellation of an order with a reference": [204, "/v1/store/orders/4", { method: "DELETE" }],
  "a patched status of an animal on order": [409, "/v1/pets/23", patch({ status: "sold" })],
  "a deletion of an animal on order": [409, "/v1/pets/23", { method: "DELETE" }],
  "a shipment with an Idempotency-Key": [
    200,
    "/v1/store/orders/1",
    patch({ status: "shipped" }, { "Idempotency-Key": "shipment" }),
  ],
  "a patch of an order that changes nothing, with an Idempotency-Key": [
    200,
    "/v1/store/orders/1",
    patch({}, { "Idempotency-Key": "empty" }),
  ],
  "a category": [200, "/v1/categories/1"],
  "a search among 602 animals that finds nothing": [200, "/v1/pets?q=nobody"],
  "an inventory of 602 animals": [200, "/v1/store/inventory"],
  "an inventory from memory": [200, "/v1/store/inventory"],
  "an inventory that another isolate counted": [200, "/v1/store/inventory"],
  "the newest place of the feed": [200, "/v1/events?cursor=latest"],
  "a page of 100 events": [200, "/v1/events"],
  "a page of events of one type": [200, "/v1/events?type=category.deleted"],
  "a page of no new events": [200, `/v1/events?cursor=${END}`],
  "a list of webhooks": [200, "/v1/webhooks"],
  "a creation of a webhook": [201, "/v1/webhooks", create(HOOK)],
  "a webhook": [200, "/v1/webhooks/1"],
  "a change of a webhook": [200, "/v1/webhooks/1", patch({ url: "https://hooks.shop.com/pets" })],
  "the state of a webhook": [200, "/v1/webhooks/1/state"],
  "the secret of a webhook": [200, "/v1/webhooks/1/secret"],
  "a new secret of a webhook": [200, "/v1/webhooks/1/rotate-secret", { method: "POST" }],
  "a test of a webhook": [200, "/v1/webhooks/1/test", { method: "POST" }],
  "a replay": [200, "/v1/webhooks/1/replay", create({ cursor: "latest" })],
  "the end of a replay": [204, "/v1/webhooks/1/replay", { method: "DELETE" }],
  "the deliveries of a webhook": [200, "/v1/webhooks/1/deliveries"],
  "a deletion of a webhook": [204, "/v1/webhooks/1", { method: "DELETE" }],
  "an unknown path": [404, "/v1/stores"],
  "an unsupported method": [405, "/v1/pets", { method: "DELETE" }],
  "a key of the wrong form": [401, "/v1/pets", { key: "rex" }],
  "a key of another environment": [401, "/v1/pets", { key: generateKey("production") }],
  "an unknown key": [401, "/v1/pets", { key: generateKey("local") }],
  "the health check": [200, "/health"],
};

/** The cost of the hourly job for each `Idempotency-Key` that it removes. */
export const REMOVAL = { rowsRead: 4, rowsWritten: 1 };
/** The same for an event. Every change of a resource writes one. */
export const EVENT_REMOVAL = { rowsRead: 3, rowsWritten: 1 };

/**
 * Bytes of the database, with the indexes: for an animal with a name of 12 characters, for an `Idempotency-Key` of 36, and for the event of such an animal. Bytes of the line
 * in the log for a list of 20, without what Cloudflare adds.
 */
export const BYTES = { animal: 80, idempotencyKey: 290, event: 130, logLine: 330 };
