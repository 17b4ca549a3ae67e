import { type Cost, type CostRequest, type CostRow, NOTHING, post, REX } from "../register/cost.ts";
import { REGISTER } from "../register/operations.ts";
import { generateKey } from "../src/auth/key-format.ts";

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
  ["/v1/pets", post(REX, { "Idempotency-Key": "known" })],
  ["/v1/store/orders", post({ petId: 23 }, { "Idempotency-Key": "order" })],
  ...[24, 25, 27].map((petId): [string, CostRequest] => ["/v1/store/orders", post({ petId })]),
  ["/v1/store/orders", post({ petId: 28, reference: "cart" })],
  ...[41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51].map((petId): [string, CostRequest] => [
    "/v1/store/orders",
    post({ petId, customer: "bo" }),
  ]),
];

/** Requests that reach the handler of no operation. */
const REFUSED = {
  "a body that breaks a rule": [NOTHING, 400, "/v1/pets", post({ name: "" })],
  "a body of another media type": [NOTHING, 415, "/v1/pets", post(REX, { "Content-Type": "text/plain" })],
  "an unknown path": [NOTHING, 404, "/v1/stores"],
  "an unsupported method": [NOTHING, 405, "/v1/pets", { method: "DELETE" }],
  "a key of the wrong form": [NOTHING, 401, "/v1/pets", { key: "rex" }],
  "a key of another environment": [NOTHING, 401, "/v1/pets", { key: generateKey("production") }],
  "an unknown key": [{ ...NOTHING, kvReads: 1 }, 401, "/v1/pets", { key: generateKey("local") }],
  "the health check": [NOTHING, 200, "/health"],
} satisfies { [request: string]: CostRow };

type Costs = (typeof REGISTER)[keyof typeof REGISTER]["costs"];
export type RequestKind =
  | keyof typeof REFUSED
  | (Costs extends infer One ? (One extends unknown ? keyof One : never) : never);

/**
 * Every kind of request, in the order in which test/cost.test.ts sends them. The tables of docs/capacity.md are generated from them.
 */
export const REQUESTS = Object.assign({}, ...Object.values(REGISTER).map(({ costs }) => costs), REFUSED) as {
  readonly [kind in RequestKind]: CostRow;
};

export const costOf = (kind: RequestKind): Cost => REQUESTS[kind][0];

/** The cost of the hourly job for each `Idempotency-Key` that it removes. */
export const REMOVAL = { rowsRead: 4, rowsWritten: 1 };
/** The same for an event. Every change of a resource writes one. */
export const EVENT_REMOVAL = { rowsRead: 3, rowsWritten: 1 };

/**
 * Bytes of the database, with the indexes: for an animal with a name of 12 characters, for an `Idempotency-Key` of 36, and for the event of such an animal. Bytes of the line
 * in the log for a list of 20, without what Cloudflare adds.
 */
export const BYTES = { animal: 80, idempotencyKey: 290, event: 130, logLine: 330 };
