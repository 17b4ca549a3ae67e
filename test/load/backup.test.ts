import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, expect, inject, onTestFinished, test } from "vitest";
import { unstable_splitSqlQuery as splitSqlQuery } from "wrangler";
import { readManifest } from "../../ops/backup/manifest.ts";
import { MARGIN } from "../../ops/backup/next-ids.ts";
import { startBundles } from "../../scripts/bundles.ts";
import { applyMigrations } from "../../scripts/migrations.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { Checkout } from "../commands/cloudflare/checkout.ts";
import { readFile } from "./fragile-service.ts";
import { writeAtRandom } from "./copy/writers.ts";

// Backs up the database of a service that many clients change, and restores it elsewhere. The feed tells what the truth of the backup's
// moment is: once forward from the first state, and once back from the last.
// By hand: ANIMALS=1000000 npm run test:load test/load/backup.test.ts -- --silent=false

const ANIMALS = Number(process.env["ANIMALS"] ?? 20_000);
const ORDERS = ANIMALS / 10;
/** Changes between two pauses of the writers, which go on until the backup ends. Milliseconds of the pause. */
const CHANGES = 20;
const PAUSE = 200;
/** Milliseconds between two looks at a process. */
const POLL = 5;

/** Names with a NUL, of every plane that has characters, and with what could end a line or a text. Categories at the ends of int64. */
const FILL = [
  `INSERT INTO pets (id, name, category_id, status)
    WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < ${ANIMALS})
    SELECT i, CASE i % 5 WHEN 0 THEN 'NUL' || char(0) || 'a' WHEN 1 THEN char(8232, 8233, 133, 10, 13, 34, 39, 92)
        WHEN 2 THEN char(228, 128021, 131072, 196608, 917505, 983040, 1114109) WHEN 3 THEN replace(hex(zeroblob(30)), '0', 'x')
        ELSE 'Rex' END || i,
      CASE i % 3 WHEN 0 THEN 9223372036854775807 WHEN 1 THEN -9223372036854775807 - 1 ELSE i END,
      iif(i <= 9 + ${ORDERS}, 'pending', 'available') FROM n`,
  `INSERT INTO orders (id, pet_id, status, created_at)
    WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 9 + ${ORDERS})
    SELECT i, i, 'placed', '2026-01-01T00:00:00.000Z' FROM n`,
  "INSERT INTO pets (id, name, category_id, status) VALUES (9007199254740993, 'Old', 0, 'sold')",
];

const TABLES = {
  pets: { event: "pet", columns: "id, name, category_id, status, version" },
  categories: { event: "category", columns: "id, name, description, version" },
  orders: { event: "order", columns: "id, pet_id, status, created_at, ship_date, version, reference" },
};
type Name = keyof typeof TABLES;
/** The columns of a row from the `data` of its event. */
const FROM_EVENT: { [table in Name]: string } = {
  pets: "data ->> '$.id', data ->> '$.name', data ->> '$.categoryId', data ->> '$.status', version",
  categories: "data ->> '$.id', data ->> '$.name', data ->> '$.description', version",
  orders:
    "data ->> '$.id', data ->> '$.petId', data ->> '$.status', data ->> '$.createdAt', data ->> '$.shipDate', version, data ->> '$.reference'",
};

const KEY = generateKey("production");
const ACCOUNT = "account";

/** The service in workerd, and Cloudflare's API for its database. */
async function startService(folder: string) {
  const script = {
    type: "ESModule",
    path: "index.js",
    contents: readFileSync(join(inject("bundle"), "index.js"), "utf8"),
  } as const;
  const bundles = await startBundles({ petstore: [script] }, KEY, undefined, folder);
  const { database } = bundles;
  await applyMigrations(database, "drizzle");
  for (const statement of FILL) await database.prepare(statement).run();
  const api = createServer(async (request, response) => {
    const result = await answer(database, request.method === "POST" ? await text(request) : undefined).catch(String);
    response.setHeader("Content-Type", "application/json");
    response.end(
      JSON.stringify({ success: typeof result !== "string", result, errors: [{ code: 7500, message: result }] }),
    );
  }).listen(0, "127.0.0.1");
  await once(api, "listening");
  const { port } = api.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${bundles.port}`),
    environment: {
      CLOUDFLARE_API_BASE_URL: `http://127.0.0.1:${port}`,
      CLOUDFLARE_ACCOUNT_ID: ACCOUNT,
      CLOUDFLARE_API_TOKEN: "token",
    },
    async stop() {
      api.close();
      await bundles[Symbol.asyncDispose]();
    },
  };
}

/** As Cloudflare's API: several statements in one text are a transaction. Without a body, it describes the database. */
async function answer(database: D1Database, body: string | undefined): Promise<unknown> {
  if (body === undefined) return { uuid: "uuid", name: "petstore-production" };
  const { sql } = JSON.parse(body) as { sql: string };
  return database.batch(splitSqlQuery(sql).map((statement) => database.prepare(statement)));
}

const fileIn = (folder: string) => {
  const [file] = globSync(join(folder, "**/miniflare-D1DatabaseObject/*[0-9a-f].sqlite"));
  return file ?? expect.unreachable("There is no database.");
};

/** Its wrangler.toml has the ids of an account. */
const checkout = new Checkout();
afterAll(() => checkout.remove());

/** Whether a query has a row. */
function has(file: string, query: string): boolean {
  try {
    using database = new DatabaseSync(file, { readOnly: true });
    return database.prepare(query).get() !== undefined;
  } catch {
    // It is not there yet, or locked.
    return false;
  }
}

/** Runs a command. @param isOver when it is true, the process gets SIGKILL. */
async function run(
  script: string,
  args: readonly string[],
  environment: Record<string, string> = {},
  isOver = () => false,
) {
  const child = spawn(process.execPath, ["ops/run.ts", script, ...args], {
    cwd: checkout.folder,
    env: { ...process.env, ...environment },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => void (stderr += text));
  let memory = 0;
  const ended = once(child, "close");
  const end = new AbortController();
  void ended.then(() => end.abort());
  while (!end.signal.aborted) {
    if (isOver()) child.kill("SIGKILL");
    memory = Math.max(memory, peakMemory(child.pid));
    await wait(POLL);
  }
  const [code]: (number | null)[] = await ended;
  return { code, stderr, memory };
}

/** MiB that a process had at most. */
function peakMemory(pid: number | undefined): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

/** The rows of the tables by their ids, as texts that tell types apart. */
function rowsOf(file: string, table: Name): Map<string, string> {
  const rows = readFile(file, `SELECT ${TABLES[table].columns} FROM ${table}`);
  return new Map(rows.map((row) => [String(row["id"]), textOf(row)]));
}

const textOf = (row: Record<string, unknown>) =>
  Object.values(row)
    .map((value) => `${typeof value} ${String(value)}`)
    .join(" | ");

/** The first state with the events up to one applied. */
function replay(before: Map<string, string>, file: string, table: Name, last: bigint): Map<string, string> {
  const rows = new Map(before);
  for (const { deleted, ...row } of readFile(
    file,
    `SELECT type LIKE '%.deleted' AS deleted, ${FROM_EVENT[table]} FROM events
     WHERE type LIKE '${TABLES[table].event}.%' AND id <= ${last} ORDER BY id`,
  )) {
    const [id] = Object.values(row);
    if (deleted === 1n) rows.delete(String(id));
    else rows.set(String(id), textOf(row));
  }
  return rows;
}

/** What contradicts the last state and the events after one, in SQL and without the code above. */
function findContradictions(restored: string, live: string, last: bigint): Record<string, unknown>[] {
  using database = new DatabaseSync(live);
  database.exec(`ATTACH '${restored}' AS restored`);
  const found = Object.entries(TABLES).flatMap(([table, { event, columns }]) => {
    const first = `(SELECT data ->> '$.id' AS id, min(id) AS event, type, version FROM main.events
      WHERE id > ${last} AND type LIKE '${event}.%' GROUP BY 1)`;
    const same = `id NOT IN (SELECT id FROM ${first})`;
    const differ = (a: string, b: string) =>
      `SELECT '${table} in ${a} alone' AS what, id FROM (SELECT ${columns} FROM ${a}.${table} WHERE ${same}
        EXCEPT SELECT ${columns} FROM ${b}.${table} WHERE ${same})`;
    return [
      differ("main", "restored"),
      differ("restored", "main"),
      // An event later than the moment: the row has the version before it, or is not there yet.
      `SELECT '${table} version' AS what, f.id FROM ${first} f LEFT JOIN restored.${table} r ON r.id = f.id
        WHERE ifnull(r.version, 0) <> f.version - 1 AND f.type NOT LIKE '%.deleted'`,
      `SELECT '${table} missing' AS what, f.id FROM ${first} f WHERE f.type LIKE '%.deleted'
        AND f.id NOT IN (SELECT id FROM restored.${table})`,
    ];
  });
  const keys = "id, api_key_id, idempotency_key, fingerprint, resource_id, created_at, response, version";
  const upTo = "WHERE id <= (SELECT max(id) FROM restored.idempotency_keys)";
  found.push(
    `SELECT 'key missing' AS what, id FROM (SELECT ${keys} FROM main.idempotency_keys ${upTo} EXCEPT SELECT ${keys} FROM restored.idempotency_keys)`,
    `SELECT 'key added' AS what, id FROM (SELECT ${keys} FROM restored.idempotency_keys EXCEPT SELECT ${keys} FROM main.idempotency_keys)`,
    // The change of the next key happened after the moment. A change to the current values has a key and no event: its version is older.
    `SELECT 'key of a change before' AS what, id FROM main.idempotency_keys k
      WHERE id = (SELECT max(id) + 1 FROM restored.idempotency_keys) AND EXISTS (
        SELECT 1 FROM main.events e WHERE e.id <= ${last} AND e.data ->> '$.id' = k.resource_id AND e.version = k.version
          AND abs(unixepoch(e.created_at) - k.created_at) <= 1)`,
    `SELECT 'key of a change after' AS what, id FROM restored.idempotency_keys k WHERE NOT EXISTS (
        SELECT 1 FROM main.events e WHERE e.id <= ${last} AND e.data ->> '$.id' = k.resource_id AND e.version = k.version)`,
  );
  return found.flatMap((sql) => {
    const statement = database.prepare(sql);
    statement.setReadBigInts(true);
    return statement.all();
  });
}

test(
  "a backup that was killed three times while the store changed is the truth of its moment",
  { timeout: 3_600_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), "petstore-backup-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const [state, to, other] = ["state", "backup", "restored"].map((name) => join(folder, name));
    if (state === undefined || to === undefined || other === undefined) return;
    const service = await startService(state);
    onTestFinished(() => service.stop());
    const before = Object.fromEntries(
      (Object.keys(TABLES) as Name[]).map((table) => [table, rowsOf(fileIn(state), table)]),
    );

    const latencies: { alone: number[]; meanwhile: number[] } = { alone: [], meanwhile: [] };
    let phase: keyof typeof latencies = "alone";
    const stop = new AbortController();
    const written = { requests: 0, changes: 0, kinds: new Set<string>() };
    const write = async () => {
      while (!stop.signal.aborted) {
        const { requests, changes, successes } = await writeAtRandom(service.url, [KEY], CHANGES);
        written.requests += requests;
        written.changes += changes;
        for (const kind of Object.keys(successes)) written.kinds.add(kind);
        await wait(PAUSE);
      }
    };
    const watch = async () => {
      while (!stop.signal.aborted) {
        const began = performance.now();
        const response = await fetch(new URL("/v1/pets", service.url), { headers: { Authorization: `Bearer ${KEY}` } });
        await response.arrayBuffer();
        latencies[phase].push(performance.now() - began);
        await wait(10);
      }
    };
    const clients = Promise.all([write(), watch()]);
    await expect.poll(() => latencies.alone.length, { timeout: 60_000 }).toBeGreaterThan(50);
    phase = "meanwhile";

    const args = ["--env", "production", "--to", to];
    const began = performance.now();
    const copy = join(to, "unfinished/copy.sqlite");
    // Two pages of animals, an order, and the end of all.
    const conditions = [
      "SELECT 1 FROM pets LIMIT 1 OFFSET 2000",
      "SELECT 1 FROM orders",
      "SELECT 1 FROM copy_state WHERE value ->> '$.end' IS NOT NULL",
    ];
    let kills = 0;
    for (const condition of conditions) {
      const { code, stderr } = await run("backup", args, service.environment, () => has(copy, condition));
      // A place that is passed quickly may be missed.
      if (code === 0) break;
      expect(code, stderr).toBeNull();
      kills++;
    }
    const last = kills === conditions.length ? await run("backup", args, service.environment) : undefined;
    const seconds = (performance.now() - began) / 1_000;
    // Changes after the moment, so that the backup is of a past one.
    await writeAtRandom(service.url, [KEY], CHANGES);
    stop.abort();
    await clients;
    await service.stop();
    expect(last?.code ?? 0, last?.stderr).toBe(0);
    expect(kills).toBeGreaterThan(1);

    const { manifest } = readManifest(to);
    const moment = BigInt(manifest.moment.event.id);
    const place = ["--env", "local", "--persist-to", other];
    const restoring = await run("restore", [...place, "--from", to, "--source", manifest.database]);
    expect(restoring.code, restoring.stderr).toBe(0);
    const [live, restored] = [fileIn(state), fileIn(other)];
    const [{ newest } = {}] = readFile(live, "SELECT max(id) AS newest FROM events");
    expect(Number(newest)).toBeGreaterThan(Number(moment));
    for (const table of Object.keys(TABLES) as Name[]) {
      const [expected, actual] = [replay(before[table] ?? new Map(), live, table, moment), rowsOf(restored, table)];
      const differences = [...new Set([...expected].map(String)).symmetricDifference(new Set([...actual].map(String)))];
      expect(differences).toEqual([]);
      expect(actual.size).toBeGreaterThan(1);
    }
    expect(findContradictions(restored, live, moment)).toEqual([]);
    const [counter] = readFile(restored, "SELECT seq FROM sqlite_sequence WHERE name = 'pets'");
    expect(counter?.["seq"]).toBeGreaterThanOrEqual(BigInt(manifest.counters["pets"] ?? 0) + MARGIN);
    const bytes = globSync(join(to, "*")).reduce((sum, file) => sum + statSync(file).size, 0);
    console.log({
      kills,
      seconds,
      bytes,
      memory: [last?.memory, restoring.memory],
      rows: Object.fromEntries(Object.entries(manifest.tables).map(([name, { rows }]) => [name, rows])),
      requests: written.requests,
      changes: written.changes,
      kinds: written.kinds.size,
      milliseconds: Object.entries(latencies).map(([name, values]) => {
        const sorted = values.toSorted((a, b) => a - b);
        return {
          name,
          p50: sorted[sorted.length >> 1],
          p99: sorted[Math.floor(sorted.length * 0.99)],
          max: sorted.at(-1),
        };
      }),
      last: last?.stderr.trim().split("\n").at(-1),
    });
  },
);
