// Sends each kind of request of test/costs.ts, and pages from the middle, to a service with a small and with a large database.
import { table } from "../scripts/docs/generated.ts";
import { forgetOld } from "../src/jobs/purge.ts";
import { BATCH_SIZE } from "../src/db/purge.ts";
import { encodeEventCursor } from "../src/feed/place.ts";
import { type CostRequest, END, post } from "../register/cost.ts";
import { BEFORE, REQUESTS, ROWS } from "../test/costs.ts";
import type { Candidate } from "./candidates.ts";
import { fill, startInstance } from "./instance.ts";
import { recorder } from "./prepare.ts";
import { AUTHORIZATION, type BenchRequest, LIST, send } from "./requests.ts";

/** Rows that are added to each table. */
const SIZES = [1_000, 1_000_000];
/** The feed and the hourly job read some thousand rows at most. Their tables have more in both databases. */
const FEWEST = 2 * BATCH_SIZE;
/** What reads or writes more rows in the large database. docs/capacity.md explains each. */
const GROWING = [
  "a search that finds nothing",
  "a list of the orders of a time",
  "an inventory",
  "pages of orders of a day",
];
const INVENTORY = "/v1/store/inventory";
const JOB = `the hourly job with ${BATCH_SIZE.toLocaleString("en")} old keys and as many events`;

/** The id before the first row that is added to a table. */
const BASE = 1_000_000;
/** A hundred animals or orders have these, or two hundred, in both databases. */
const RARE = { status: "pending", order: "placed", category: 2, animal: BASE + 2, reference: "cart 7" };
/**
 * Half of the animals are in this category, and half of the orders are cancelled ones of two animals. Requests of test/costs.ts try to
 * delete the category, delete the one animal and order the other.
 */
const COMMON = { category: 1, deleted: 11, ordered: 21, reference: "market" };

/** Days over which the orders were placed. The middle of them is the middle of `DAY`. */
const ORDER_DAYS = 401;
const DAY = "createdAfter=2025-07-20T00:00:00Z&createdBefore=2025-07-21T00:00:00Z";

/** A row for each number i. Of `rows` rows, a hundred are rare. */
const inserts = (rows: number) => [
  `INSERT INTO pets (id, name, category_id, status)
    SELECT ${BASE} + i, 'Animal ' || i, CASE WHEN i % ${rows / 100} < 2 THEN ${RARE.category} ELSE ${COMMON.category} + i % 2 * 2 END,
      CASE WHEN i % ${rows / 100} = 0 THEN '${RARE.status}' WHEN i % 2 THEN 'available' ELSE 'sold' END FROM n`,
  `INSERT INTO orders (id, pet_id, status, created_at, ship_date, reference)
    SELECT ${BASE} + i, CASE WHEN i % ${rows / 100} = 1 THEN ${RARE.animal} WHEN i % 2 THEN iif(i % 4 = 1, ${COMMON.deleted}, ${COMMON.ordered}) ELSE ${BASE} + i END,
      CASE WHEN i % ${rows / 100} = 0 THEN '${RARE.order}' WHEN i % 2 THEN 'cancelled' ELSE 'shipped' END,
      strftime('%Y-%m-%dT%H:%M:%fZ', '2025-01-01', (i * ${(ORDER_DAYS * 86_400) / rows}) || ' seconds'), '2026',
      CASE WHEN i % ${rows / 100} = 0 THEN '${RARE.reference}' WHEN i % 2 THEN '${COMMON.reference}' END FROM n`,
  `INSERT INTO categories (id, name) SELECT ${BASE} + i, 'Kind ' || i FROM n`,
];
/** Unordered, as the keys of clients are. Each number up to 2^32 has another one. */
const KEY_OF_ROW = "i * 2654435761 & 4294967295";
const EVENTS_AND_KEYS = [
  `INSERT INTO events (tag, type, version, data, created_at)
    SELECT i, 'pet.updated', 2, '{"id":1}', strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM n`,
  `INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, response, resource_id, created_at)
    SELECT 'key_000000000000', ${KEY_OF_ROW}, '', '{}', 1, unixepoch() FROM n`,
];
/** As many as one batch of the hourly job removes. */
const OLD = [
  `INSERT INTO idempotency_keys (id, api_key_id, idempotency_key, fingerprint, resource_id, created_at)
    SELECT -i, 'key_000000000000', ${KEY_OF_ROW.replace("i", "-i")}, '', 1, 0 FROM n WHERE i <= ${BATCH_SIZE}`,
  // The newest of them stays.
  "INSERT INTO events (id, tag, type, version, data, created_at) SELECT -i, i, 'pet.created', 1, '{}', '2020' FROM n",
];

/** Each is read in both orders, from the middle. */
const PAGES = (rows: number) => ({
  "animals, from the middle": "/pets?",
  "animals of a status": "/pets?status=available",
  "animals of a rare status": `/pets?status=${RARE.status}`,
  "animals of a category": `/pets?categoryId=${COMMON.category}`,
  "animals of a rare category": `/pets?categoryId=${RARE.category}`,
  "animals of a category and a status": `/pets?categoryId=${COMMON.category}&status=sold`,
  "animals of a rare category and status": `/pets?categoryId=${RARE.category}&status=${RARE.status}`,
  "animals of 100 ids": `/pets?${idsOf(rows)}`,
  "animals of 100 ids, a category and a status": `/pets?categoryId=${COMMON.category}&status=sold&${idsOf(rows)}`,
  "animals with a common word": "/pets?q=animal",
  categories: "/categories?",
  orders: "/store/orders?",
  "orders of a status": "/store/orders?status=shipped",
  "orders of a rare status": `/store/orders?status=${RARE.order}`,
  "orders of an animal with many": `/store/orders?petId=${COMMON.ordered}`,
  "cancelled orders of an animal with many": `/store/orders?petId=${COMMON.ordered}&status=cancelled`,
  "the shipped order of an animal with many others": `/store/orders?petId=${COMMON.ordered}&status=shipped`,
  "orders of a reference": `/store/orders?reference=${COMMON.reference}`,
  "orders of a reference and a status": `/store/orders?reference=${COMMON.reference}&status=cancelled`,
  "orders of a rare reference": `/store/orders?reference=${encodeURIComponent(RARE.reference)}`,
  "orders of a day": `/store/orders?${DAY}`,
  "orders of an animal with few": `/store/orders?petId=${RARE.animal}`,
});
const idsOf = (rows: number) =>
  Array.from({ length: 100 }, (_, index) => `id=${BASE + (rows / 100) * (index + 1) - 2}`).join("&");

/** A statement that D1 ran for the service. */
interface Ran {
  answer: { meta: { rows_read: number; rows_written: number } };
  /** What follows a response, at any time, opens no session. */
  inSession: boolean;
}

interface Figures {
  rowsRead: number;
  rowsWritten: number;
}

/** What each row of the page costs. Requests without a name belong to none. */
async function measure(candidate: Candidate, rows: number): Promise<Map<string, Figures>> {
  await using instance = await startInstance(candidate, 0, await recorder());
  const { port, database } = instance;
  const measured = new Map<string, Figures>();
  const add = (row: string, statements: Ran[]) => {
    const figures = measured.get(row) ?? { rowsRead: 0, rowsWritten: 0 };
    for (const { answer } of statements) {
      figures.rowsRead += answer.meta.rows_read;
      figures.rowsWritten += answer.meta.rows_written;
    }
    measured.set(row, figures);
  };
  let seen = 0;
  /** A customer token. */
  const grant = async (customer: string): Promise<string> => {
    const { body } = await ask("", 200, "/v1/key/tokens", post({ customer }));
    return JSON.parse(body).token;
  };
  const ask = async (name: string, status: number, path: string, request: CostRequest = {}) => {
    const { method = "GET", body, headers, customer } = request;
    const Authorization = customer === undefined ? AUTHORIZATION : `Bearer ${await grant(customer)}`;
    const answer = await send(port, {
      name,
      status,
      path,
      method: method as BenchRequest["method"],
      headers: { Authorization, ...(body && { "Content-Type": "application/json" }), ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const ran: Ran[] = JSON.parse((await send(port, { ...LIST, path: "/answers" })).body);
    add(
      name,
      ran.slice(seen).filter(({ inSession }) => inSession),
    );
    seen = ran.length;
    return answer;
  };

  for (const insert of ROWS) await database.prepare(insert).run();
  for (const [path, request] of BEFORE) await ask("", 201, path, request);
  for (const insert of inserts(rows)) await fill(database, insert, rows);
  for (const insert of EVENTS_AND_KEYS) await fill(database, insert, Math.max(rows, FEWEST));
  for (const insert of OLD) await fill(database, insert, BATCH_SIZE + 1);

  for (const [kind, [cost, status, path, request]] of Object.entries(REQUESTS)) {
    // The inventory stays in memory for some time.
    if (cost.d1RoundTrips === 0 || path === INVENTORY) continue;
    const { cursor } = JSON.parse((await ask("", 200, "/v1/events?cursor=latest")).body);
    await ask(kind.replace(/ among \d+ animals/, ""), status, path.replace(END, cursor), request);
  }
  await ask("an inventory", 200, INVENTORY);
  const half = BASE + rows / 2;
  for (const [sort, next] of [
    ["id", half + 1],
    ["-id", half - 1],
  ] as const) {
    const { headers } = await ask("", 200, `/v1/pets?limit=1&sort=${sort}&id=${half}&id=${next}`);
    const cursor = /cursor=[\w-]+/.exec(headers.get("Link") ?? "")?.[0];
    for (const [page, path] of Object.entries(PAGES(rows))) {
      await ask(`pages of ${page}`, 200, `/v1${path}&sort=${sort}&${cursor}`);
    }
  }
  const place = "SELECT printf('%016x%08x', id, tag) AS place FROM events WHERE id = (SELECT max(id) / 2 FROM events)";
  const middle = encodeEventCursor(String(await database.prepare(place).first("place")));
  const gone = encodeEventCursor(`${BigInt.asUintN(64, BigInt(-BATCH_SIZE - 2)).toString(16)}00000000`);
  await ask("a page of events, from the middle", 200, `/v1/events?cursor=${middle}`);
  await ask("events of a type that is not there", 200, `/v1/events?type=order.shipped&cursor=${middle}`);
  await ask("events from a place that is gone", 410, `/v1/events?cursor=${gone}`);

  const run = async (statement: D1PreparedStatement) => {
    const answer = await statement.run();
    add(JOB, [{ answer, inSession: false }]);
    return answer;
  };
  const prepare = (sql: string) => ({
    bind: (...values: unknown[]) => ({ run: () => run(database.prepare(sql).bind(...values)) }),
  });
  await forgetOld({ prepare } as D1Database, "7");
  measured.delete("");
  return measured;
}

/**
 * Prints the table.
 *
 * @throws Error when the rows of others than the `GROWING` differ, or when theirs do not.
 */
export async function measureRows(candidate: Candidate): Promise<void> {
  const sizes: Map<string, Figures>[] = [];
  for (const rows of SIZES) sizes.push(await measure(candidate, rows));
  const grown: string[] = [];
  const cells = [...(sizes[0]?.keys() ?? [])].map((name) => {
    const of = (figure: keyof Figures) => sizes.map((measured) => measured.get(name)?.[figure] ?? Number.NaN);
    const rows = [of("rowsRead"), of("rowsWritten")].map((figures) => [...new Set(figures)]);
    if (rows.some(({ length }) => length > 1)) grown.push(name);
    const texts = rows.map((figures) => figures.map((figure) => figure.toLocaleString("en")).join(" → "));
    return [name, ...texts];
  });
  console.log(table(["Request", "Rows read", "Rows written"], cells));
  if (grown.join() !== GROWING.join()) {
    throw new Error(`These read or write more rows in the large database: ${grown.join(", ") || "none"}`);
  }
}
