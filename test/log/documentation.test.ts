import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, test } from "vitest";
import page from "../../docs/observability.md?raw";
import worker from "../../src/index.ts";
import { BYTES } from "../costs.ts";
import { type Call, call } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { grantKey, grantToken, key } from "../support/keys.ts";
import { type Line, linesOf } from "../support/log-lines.ts";
import { wrappedDatabase } from "../support/wrapped-d1.ts";

// Holds the fields in docs/observability.md against the lines of the service.

/** The fields in the table under a heading of the page, with their descriptions. */
function documentedFields(heading: string): Map<string, { presence: string; meaning: string }> {
  const [, section = ""] = page.split(`\n## ${heading}\n`);
  const [table = ""] = section.split("\n## ");
  const rows = table.matchAll(/^\| `(\w+)` *\| ([^|]+?) *\| ([^|]+?) *\|$/gm);
  return new Map([...rows].map(([, name = "", presence = "", meaning = ""]) => [name, { presence, meaning }]));
}

/** The real database, whose results say where it was. Its local simulation has no region. */
const placedDatabase = (place: Partial<D1Meta>) =>
  wrappedDatabase(async (run) => (await run()).map((result) => ({ ...result, meta: { ...result.meta, ...place } })));

const fieldsOf = (lines: Line[]) => [...new Set(lines.flatMap((line) => Object.keys(line)))].toSorted();
const namesOf = (fields: Map<string, unknown>) => [...fields.keys()].toSorted();

const CF = { colo: "TXL", country: "DE" } as CfProperties;
const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const BOOKMARK = "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683";
const EVERYTHING: Call = { headers: { traceparent: `00-${TRACE}-${SPAN}-01`, "x-d1-bookmark": BOOKMARK }, cf: CF };

test("a request logs the documented fields, and only those", async () => {
  const DB = placedDatabase({ served_by_region: "WEUR", served_by_primary: false });
  const { log } = await linesOf(async () => {
    await call("/v1/pets", { ...EVERYTHING, key, bindings: { DB } });
    await call("/v1/pets/1", { ...EVERYTHING, key, bindings: { DB } });
    await call("/v1/pets", { key, headers: { "Cache-Control": "max-age=60" }, cf: CF });
    await call("/v1/pets", { key, headers: { "Cache-Control": "max-age=60" }, cf: CF });
    await call("/v1/pets", { key, method: "POST", body: { name: "Rex", categoryId: 1 }, cf: CF });
    await call("/v1/pets", { key, method: "POST", body: "{", cf: CF });
    await call("/v1/pets", { cf: CF });
    await call("/mcp", { key, method: "POST", body: "{", cf: CF });
    await call("/v1/pets", { key: "wrong", cf: CF });
    await call("/v1/pets", { key: await grantToken(key), cf: CF });
    const { DB: behind } = observedDatabase({ when: "before", message: "D1_ERROR: no such table: pets: SQLITE_ERROR" });
    await call("/v1/pets/1", { key, bindings: { DB: behind }, cf: CF });
    await call("/v1/pets", { key, bindings: { DB: placedDatabase({ duration: 100 }) }, cf: CF });
    for (const path of ["/", "/health", "/docs", "/openapi.json", "/nothing", "/v1/nothing"]) {
      await (await call(path, { key, cf: CF })).body?.cancel();
    }
  });
  const documented = documentedFields("The line of a request");
  expect(fieldsOf(log)).toEqual(namesOf(documented));

  const always = [...documented].filter(([, { presence }]) => presence === "always").map(([name]) => name);
  expect(always.length).toBeGreaterThan(5);
  for (const line of log) expect(Object.keys(line)).toEqual(expect.arrayContaining(always));
});

test("the bytes of a line that docs/capacity.md names", async () => {
  const DB = placedDatabase({ served_by_region: "WEUR", served_by_primary: false });
  const VERSION = { ...env.VERSION, id: crypto.randomUUID() };
  const owned = await grantKey({ id: "key_0123456789ab" });
  const { log } = await linesOf(() => call("/v1/pets?limit=20", { key: owned, cf: CF, bindings: { DB, VERSION } }));
  expect(Math.round(JSON.stringify(log[0]).length / 10) * 10).toBe(BYTES.logLine);
});

test("a request that D1 served logs the region and the trace of its caller", async () => {
  const DB = placedDatabase({ served_by_region: "WEUR", served_by_primary: false });
  const { log } = await linesOf(() => call("/v1/pets/12345", { ...EVERYTHING, key, bindings: { DB } }));
  expect(log).toEqual([
    {
      level: "info",
      requestId: expect.any(String),
      method: "GET",
      route: "/v1/pets/:petId",
      status: 404,
      duration: expect.any(Number),
      weight: 1,
      deployment: env.VERSION.id,
      colo: "TXL",
      country: "DE",
      traceId: TRACE,
      parentSpanId: SPAN,
      keyId: expect.any(String),
      errorCode: "not_found",
      bookmark: true,
      deprecated: true,
      d1Duration: expect.any(Number),
      d1RowsRead: expect.any(Number),
      d1RowsWritten: 0,
      d1Region: "WEUR",
      d1Primary: false,
    },
  ]);
});

test("a creation, which is a transaction, logs the region as well, and the time and the slow ones of its statements", async () => {
  const DB = wrappedDatabase(async (run) =>
    (await run()).map((result, place) => {
      const duration = [99, 100][place] ?? 0.25;
      return { ...result, meta: { ...result.meta, served_by_region: "EEUR", served_by_primary: true, duration } };
    }),
  );
  const create: Call = { method: "POST", body: { name: "Rex", categoryId: 1 }, headers: { "Idempotency-Key": "a" } };
  const { log } = await linesOf(() => call("/v1/pets", { ...create, key, bindings: { DB } }));
  const place = { d1Region: "EEUR", d1Primary: true };
  expect(log).toEqual([
    expect.objectContaining({ status: 201, ...place, d1Duration: 199.5, d1Slow: "createPet.store" }),
  ]);
});

test("in local development D1 has no region, and the field is absent", async () => {
  const { log } = await linesOf(() => call("/v1/pets", { key }));
  expect(log).toEqual([expect.objectContaining({ status: 200, d1Duration: expect.any(Number) })]);
  expect(log[0]).not.toHaveProperty("d1Region");
});

test("a malformed traceparent is not logged", async () => {
  const traceparent = `00-${TRACE}-${SPAN}-01-${key}`;
  const { log } = await linesOf(() => call("/v1/pets", { key, headers: { traceparent } }));
  expect(log).toHaveLength(1);
  for (const field of ["traceId", "parentSpanId"]) expect(log[0]).not.toHaveProperty(field);
});

test("a failure logs the documented fields in a second line", async () => {
  const { DB } = observedDatabase({ when: "before", message: "D1_ERROR: D1 DB is overloaded." });
  const { log, error } = await linesOf(() => call("/v1/pets", { key, bindings: { DB } }));
  expect(fieldsOf(error)).toEqual(namesOf(documentedFields("The line of a failure")));
  expect(error.map(({ requestId }) => requestId)).toEqual(log.map(({ requestId }) => requestId));
  expect(error).toEqual([expect.objectContaining({ statements: "listPets.all.id" })]);
  // D1 did not respond, and 0 would say that it did.
  for (const field of ["d1Duration", "d1RowsRead", "d1RowsWritten"]) expect(log[0]).not.toHaveProperty(field);
});

test("the scheduled job logs the documented fields", async () => {
  const { log } = await linesOf(() => worker.scheduled(createScheduledController(), env));
  expect(log).toHaveLength(4);
  const documented = documentedFields("The lines of the scheduled job");
  expect(fieldsOf(log)).toEqual(namesOf(documented));
  expect(documented.get("event")?.meaning).toBe(log.map(({ event }) => `\`${String(event)}\``).join(", "));
});

test.each([
  ["pets", "job", "foldNames.select"],
  ["webhooks", "webhooks nudged", "webhooks.enabled"],
])(
  "a scheduled job that fails for want of the table %s logs that and its statement",
  async (table, event, statements) => {
    await env.DB.exec(`ALTER TABLE ${table} RENAME TO lost`);
    const run = worker.scheduled(createScheduledController(), env);
    const { error } = await linesOf(() => run.catch(() => {}));
    await env.DB.exec(`ALTER TABLE lost RENAME TO ${table}`);
    const documented = namesOf(documentedFields("The line of a failure"));
    expect(fieldsOf(error)).toEqual(documented.map((name) => (name === "requestId" ? "event" : name)).toSorted());
    expect(error).toEqual([expect.objectContaining({ event, statements })]);
  },
);

test("the queries in the Query Builder name documented fields", () => {
  const documented = new Set([
    ...documentedFields("The line of a request").keys(),
    ...documentedFields("The line of a failure").keys(),
    ...documentedFields("The lines of the scheduled job").keys(),
  ]);
  const [, section = ""] = page.split("\n## Queries\n");
  const rows = section.split("\n### ")[0]?.match(/^- \*\*\w.+/gm) ?? [];
  expect(rows.length).toBeGreaterThan(5);
  for (const row of rows) {
    const names = [...row.matchAll(/`(\w+)`/g)].map(([, name = ""]) => name);
    expect(names, row).not.toEqual([]);
    expect(
      names.filter((name) => !documented.has(name) && !["error", "true", "false"].includes(name)),
      row,
    ).toEqual([]);
  }
});
