import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createHmac } from "node:crypto";
import { appendFileSync, copyFileSync, readdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import getPort from "get-port";
import { beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { createTestHarness } from "wrangler";
import { PetStore } from "../../client/src/index.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { useBuiltService } from "../built/service.ts";
import { serve } from "../built/serve.ts";
import { link, newProject } from "../built/project.ts";
import { atRandom, type Choice, startChaosProxy } from "./chaos/proxy.ts";
import { readFile } from "./fragile-service.ts";
import { runPrograms } from "./stress/programs.ts";

// The programs of examples/ that are no shop, as processes.

const ANIMALS = 500;
const PAGE = 100;

const service = useBuiltService();
const project = newProject();
beforeAll(() => {
  link(project, "csv-parse");
  for (const program of ["import", "rename", "claim", "webhook-receiver", "books", "offline", "copy"])
    copyFileSync(`examples/${program}.mjs`, join(project, `${program}.mjs`));
});

const storeOf = ({ url, key }: { url: URL; key: string }) =>
  new PetStore({ baseUrl: new URL("/v1", url), apiKey: key }).session();

async function stored(): Promise<{ id: string; name: string; category: string; version: number }[]> {
  const { DB } = await service.worker.getEnv();
  const { results } = await DB.prepare(
    "SELECT CAST(id AS TEXT) AS id, name, CAST(category_id AS TEXT) AS category, version FROM pets ORDER BY pets.id",
  ).all<{ id: string; name: string; category: string; version: number }>();
  return results;
}

async function empty(): Promise<void> {
  const { DB } = await service.worker.getEnv();
  await DB.prepare("DELETE FROM pets").run();
}

/** What an operator does when changes left no event. */
async function startFeed(DB: D1Database): Promise<void> {
  const statements = readFileSync("ops/start-feed.sql", "utf8").replaceAll(/^--.*/gm, "").split(";").slice(0, -1);
  for (const statement of statements) await DB.prepare(statement).run();
}

function start(
  program: string,
  base: URL,
  env: Record<string, string>,
  args: string[] = [],
): ChildProcessWithoutNullStreams {
  const [command, ...before] = program.endsWith(".mjs") ? [process.execPath, program] : program.split(" ");
  return spawn(command ?? "", [...before, ...args], {
    cwd: project,
    env: { ...process.env, BASE: new URL("/v1", base).href, KEY: service.key, ...env },
  });
}

async function run(program: string, base: URL, env: Record<string, string>): Promise<string> {
  const child = start(program, base, env);
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "close")]);
  expect(child.exitCode, stderr).toBe(0);
  return stdout;
}

/** Names that a CSV file has to quote. */
const nameOf = (index: number) => ["Animal", `Animal "Rex", the ${index}th`, `Animal\nof two lines`][index % 3] ?? "";
const categoryOf = (index: number) => 2n ** 62n + 1n + BigInt(index);

/** Writes a CSV file with the animals, as Excel does. Returns its name. */
function writeCsv(): string {
  const rows = Array.from(
    { length: ANIMALS },
    (_, index) => `SKU-${index},"${nameOf(index).replaceAll('"', '""')}",${categoryOf(index)},1.50\r\n`,
  );
  const file = `${crypto.randomUUID()}.csv`;
  writeFileSync(join(project, file), `\uFEFFexternalId,name,categoryId,price\r\n${rows.join("")}`);
  return file;
}

const expectedAnimals = () =>
  Array.from({ length: ANIMALS }, (_, index) => ({ name: nameOf(index), category: String(categoryOf(index)) }));

test("an import that is killed in the middle and started again creates every animal once", async () => {
  await empty();
  // The program does not learn of its third batch, and tries it again until the kill.
  let batches = 0;
  await using losing = await startChaosProxy(service.url, () =>
    ++batches < 3 ? undefined : "connection dropped after the write",
  );
  const file = writeCsv();
  const child = start("import.mjs", losing.url, { FILE: file });
  const output = text(child.stdout);
  while ((await stored()).length < 300) expect(child.exitCode).toBeNull();
  child.kill("SIGKILL");
  await once(child, "close");
  expect((await output).match(/^created SKU-/gm)).toHaveLength(200);
  expect(await stored()).toHaveLength(300);

  const kept = await stored();
  await using proxy = await startChaosProxy(service.url);
  const printed = await run("import.mjs", proxy.url, { FILE: file });
  const animals = await stored();
  expect(animals.slice(0, 300)).toEqual(kept);
  expect(animals.map(({ name, category }) => ({ name, category }))).toEqual(expectedAnimals());
  const line = ({ id, name }: (typeof animals)[number], index: number) => `created SKU-${index}: ${id} ${name}\n`;
  expect(printed).toBe(animals.map(line).slice(300).join(""));
  expect(proxy.requests).toBe(ANIMALS / PAGE);

  // A third time changes nothing.
  const again = start("import.mjs", proxy.url, { FILE: file });
  const [nothing, told] = await Promise.all([text(again.stdout), text(again.stderr), once(again, "close")]);
  expect([nothing, told]).toEqual(["", expect.stringContaining("Nobody reads these columns: price\n")]);
  expect(await stored()).toEqual(animals);
});

test.each([
  ["a row with another number of fields", "externalId,name,categoryId\nA,Rex,1,2\n", "Invalid Record Length"],
  ["a quote that does not end", 'externalId,name,categoryId\nA,"Rex,1\n', "Quote Not Closed"],
  ["a category that is no integer", "externalId,name,categoryId\nA,Rex,1.5\n", "1.5 is not an exact 64-bit integer"],
  [
    "two rows with one identifier",
    "externalId,name,categoryId\nA,Rex,1\nA,Max,1\n",
    "1: externalId is that of an earlier item",
  ],
  ["a column that is missing", "externalId,name\nA,Rex\n", "0: categoryId"],
])("the import says what is wrong with %s, and creates nothing", async (_fault, csv, message) => {
  await empty();
  const file = `${crypto.randomUUID()}.csv`;
  writeFileSync(join(project, file), csv);
  const child = start("import.mjs", service.url, { FILE: file });
  const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(child.exitCode).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain(service.key);
  expect(await stored()).toEqual([]);
});

test("the bot that renames keeps what somebody else changes meanwhile", async () => {
  await empty();
  const store = storeOf(service);
  const ids: bigint[] = [];
  await store.pets.createMany(
    Array.from({ length: 150 }, () => ({ name: "Rex", categoryId: 1 })),
    { onProgress: ({ animals }) => ids.push(...animals.map(({ id }) => id)) },
  );
  const [, sold = 0n, gone = 0n, renamed = 0n] = ids;
  const { DB } = await service.worker.getEnv();
  // Before the first change of the bot, which has listed a page by then, somebody else changes animals of this page.
  let batches = 0;
  await using proxy = await startChaosProxy(service.url, async ({ method }) => {
    if (method === "PATCH" && batches++ === 0) {
      await store.pets.update(sold, { status: "sold" });
      await store.pets.delete(gone);
      await store.pets.update(renamed, { name: "Bo" });
    }
    return undefined;
  });
  await run("rename.mjs", proxy.url, { FROM: "Rex", TO: "Max" });
  const { results } = await DB.prepare("SELECT name, status, version, count(*) AS n FROM pets GROUP BY 1, 2, 3").all();
  expect(results).toEqual([
    { name: "Bo", status: "available", version: 2, n: 1 },
    { name: "Max", status: "available", version: 2, n: 147 },
    { name: "Max", status: "sold", version: 3, n: 1 },
  ]);
  // Two pages, and the changes of each, of which the first fail. Then the first page again.
  expect(proxy.requests).toBe(2 + 2 + 1 + 1);
});

// Promise: claims-need-few-requests
test("eight processes that claim animals get each one once, with few requests", async () => {
  await empty();
  const count = 140;
  const store = storeOf(service);
  await store.pets.createMany(Array.from({ length: count }, () => ({ name: "Rex", categoryId: 1 })));
  // Available again after its sale, as an earlier version let it be, so that every process lists it, and nobody can order it.
  const { animal: sold } = await store.pets.create({ name: "Rex", categoryId: 1 });
  const { order } = await store.orders.place({ petId: sold.id });
  await store.orders.ship(order.id);
  const { DB } = await service.worker.getEnv();
  await DB.prepare("UPDATE pets SET status = 'available' WHERE id = ?").bind(String(sold.id)).run();
  await using proxy = await startChaosProxy(service.url);
  const printed = await Promise.all(Array.from({ length: 8 }, () => run("claim.mjs", proxy.url, {})));
  const claimed = printed.flatMap((lines) => lines.match(/(?<=^\d+ )\d+/gm) ?? []);
  expect(new Set(claimed).size).toBe(count);
  expect(claimed).toHaveLength(count);
  expect(proxy.requests).toBeLessThan(3 * count);
});

// Promise: receivers-that-compare-versions, replays, the-receiver-program
test("a receiver of webhooks that is killed keeps its table, under duplicates, old events and a restore", async () => {
  // Only a local service delivers to this machine.
  const harness = createTestHarness({
    workers: [{ configPath: "wrangler.toml", prebuiltWorkerDir: inject("bundle") }],
  });
  onTestFinished(() => harness.close());
  const { url } = await harness.listen();
  const worker = harness.getWorker<Env>();
  await worker.applyD1Migrations("DB");
  const { DB } = await worker.getEnv();
  const key = await grantProductionKey(worker, generateKey("local"));
  const store = storeOf({ url, key });
  const PORT = String(await getPort());
  const file = join(project, "animals.sqlite");

  // While this holds, the receiver gets no second page of the list.
  let isHeld = true;
  let held = 0;
  const bookmarks = new Set<unknown>();
  const hold: Choice = ({ url: path = "", headers }) => {
    if (!path.startsWith("/v1/pets?")) return undefined;
    bookmarks.add(headers["x-d1-bookmark"]);
    return isHeld && path.includes("cursor=") && ++held > 0 ? "503 without Retry-After" : undefined;
  };
  await using proxy = await startChaosProxy(url, hold);
  let receiver: ChildProcessWithoutNullStreams | undefined;
  let lines: string[] = [];
  async function says(line: string) {
    await expect.poll(() => lines.join("\n"), { timeout: 60_000 }).toContain(line);
  }
  async function restart() {
    receiver?.kill("SIGKILL");
    if (receiver !== undefined) await once(receiver, "close");
    lines = [];
    receiver = start("webhook-receiver.mjs", proxy.url, { KEY: key, FILE: file, PORT });
    createInterface({ input: receiver.stdout }).on("line", (line) => lines.push(line));
    createInterface({ input: receiver.stderr }).on("line", (line) => lines.push(line));
    await says("delivers to");
  }
  onTestFinished(() => void receiver?.kill("SIGKILL"));

  const table = () =>
    readFile(file, "SELECT id, version, name, category_id, status FROM animals WHERE name IS NOT NULL");
  async function isEqual() {
    const animals = await store.pets.list({ etags: true, limit: PAGE }).all(1_000);
    const rows = animals.map(({ id, version, name, categoryId, status }) => [
      id,
      BigInt(version),
      name,
      categoryId,
      status,
    ]);
    await expect.poll(() => table().map((row) => Object.values(row)), { timeout: 60_000 }).toEqual(rows);
  }

  const ids: bigint[] = [];
  await store.pets.createMany(
    Array.from({ length: 150 }, (_, index) => ({ name: nameOf(index), categoryId: categoryOf(index) })),
    { onProgress: ({ animals }) => ids.push(...animals.map(({ id }) => id)) },
  );
  const [renamed = 0n, gone = 0n, sold = 0n, ...others] = ids;
  const { cursor } = await store.events.list({ cursor: "latest" });
  async function restartDuringList() {
    await expect.poll(() => held, { timeout: 60_000 }).toBeGreaterThan(0);
    expect(table()).toHaveLength(PAGE);
    isHeld = false;
    await restart();
    await says("is complete: 150 animals");
  }
  await restart();
  await restartDuringList();
  const [webhook, ...more] = await store.webhooks.list().all(10);
  expect([webhook?.url, more]).toEqual([`http://127.0.0.1:${PORT}/`, []]);

  // Each restart comes in the middle of deliveries. A test ends the pause that the failures caused. An event whose delivery fails in two
  // restarts would come minutes later.
  for (const name of ["A", "B", "C"]) {
    for (const id of [renamed, gone, ...others.slice(0, 20)]) await store.pets.update(id, { name });
    await restart();
    await store.webhooks.test(webhook?.id ?? 0n);
    await isEqual();
  }
  await store.pets.delete(gone);
  await store.pets.update(sold, { status: "sold" });
  const { animal: added } = await store.pets.create({ name: "Late", categoryId: 1 });
  await isEqual();

  const response = await fetch(new URL(`/v1/events?limit=100&cursor=${cursor}`, url), {
    headers: { Authorization: `Bearer ${key}` },
  });
  const { events } = (await response.json()) as { events: { id: string; type: string }[] };
  expect(events.at(-1)?.type).toBe("pet.created");
  const secret = Buffer.from((await store.webhooks.secret(webhook?.id ?? 0n)).slice("whsec_".length), "base64");
  for (const event of events.toReversed()) {
    const [time, body] = [Math.floor(Date.now() / 1_000), JSON.stringify(event)];
    const signature = createHmac("sha256", secret).update(`${event.id}.${time}.${body}`).digest("base64");
    const headers = { "webhook-id": event.id, "webhook-timestamp": `${time}`, "webhook-signature": `v1,${signature}` };
    const { status } = await fetch(`http://127.0.0.1:${PORT}/`, { method: "POST", headers, body });
    expect(status).toBe(204);
    expect((await fetch(`http://127.0.0.1:${PORT}/`, { method: "POST", headers, body: `${body} ` })).status).toBe(400);
  }
  await isEqual();

  // What a restore does: older versions, an animal that is back, one that never was, and another feed.
  await DB.batch([
    DB.prepare("UPDATE pets SET name = 'Restored', version = 1 WHERE id = ?").bind(Number(renamed)),
    DB.prepare("INSERT INTO pets (id, name, category_id, status) VALUES (?, 'Back', 1, 'available')").bind(
      Number(gone),
    ),
    DB.prepare("DELETE FROM pets WHERE id = ?").bind(Number(added.id)),
  ]);
  await startFeed(DB);
  isHeld = true;
  held = 0;
  await store.pets.update(sold, { name: "First of the new feed" });
  await says("begins the table anew");
  await restartDuringList();
  await isEqual();
  await store.pets.update(renamed, { name: "Last" });
  await isEqual();
  expect(bookmarks).not.toContain(undefined);
});

const isInstalled = (tool: string) => spawnSync("sh", ["-c", `command -v ${tool}`]).status === 0;
const clientsFolder = join(import.meta.dirname, "../../examples/clients");

// Promise: books-are-complete, books-begin-again, books-survive-crashes
test
  .skipIf(!["go", "python3"].every(isInstalled))
  .each(["books.mjs", `python3 ${clientsFolder}/books.py`, `go run ${clientsFolder}/books.go`])(
  "the books have every change of an order once, after a crash and a new start of the feed: %s",
  { timeout: 120_000 },
  async (program) => {
    const store = storeOf(service);
    const BOOK = join(project, `${crypto.randomUUID()}.jsonl`);
    const place = async () => {
      const { animal } = await store.pets.create({ name: "For the books", categoryId: 1 });
      return (await store.orders.place({ petId: animal.id })).order.id;
    };
    /** The entries since the last start, as order, version and status. */
    const read = async (): Promise<string[]> => {
      await run(program, service.url, { BOOK });
      const lines = readFileSync(BOOK, "utf8").trim().split("\n");
      const entries = lines.slice(lines.findLastIndex((line) => line.includes("restarted")) + 1);
      const read = entries.map((line): { [name: string]: string } => JSON.parse(line));
      for (const { order, animal, time } of read.filter(({ cursor }) => cursor === undefined))
        expect([order, animal, time]).toEqual([expect.any(String), expect.any(String), expect.stringMatching(/Z$/)]);
      return read
        .filter((line) => "order" in line)
        .map(({ order, version, status }) => `${order} ${version} ${status}`);
    };
    const earlier = await place();
    const before = await read();
    expect(before).toContain(`${earlier} 1 placed`);
    const later = await place();
    await store.orders.ship(earlier);
    const changes = [`${later} 1 placed`, `${earlier} 2 shipped`];
    appendFileSync(BOOK, `{"order":"${later}","version":1,"status":"placed"}\n{"order":"1`);
    expect(await read()).toEqual([...before, ...changes]);
    expect(await read()).toEqual([...before, ...changes]);

    // Another run comes first, while this one waits for the service.
    changes.push(`${await place()} 1 placed`);
    let isFirst = true;
    const slow = await serve(async (request, response) => {
      if (isFirst) {
        isFirst = false;
        await run(program, service.url, { BOOK });
      }
      const headers = request.headers as Record<string, string>;
      const found = await fetch(new URL(request.url ?? "", service.url), { headers });
      response.writeHead(found.status, { "Content-Type": "application/json" }).end(await found.text());
    });
    const late = start(program, new URL(slow), { BOOK });
    await Promise.all([once(late, "close"), text(late.stdout), text(late.stderr)]);
    expect(await read()).toEqual([...before, ...changes]);
    before.push(String(changes.at(-1)));

    await store.orders.cancel(later);
    await startFeed((await service.worker.getEnv()).DB);
    const anew = await read();
    expect(anew).toEqual(expect.arrayContaining([`${later} 2 cancelled`, `${earlier} 2 shipped`]));
    expect(anew).toHaveLength(before.length + 1);
    const last = await place();
    expect(await read()).toEqual([...anew, `${last} 1 placed`]);
  },
);

// Promise: sales-after-a-day, sales-happen-once, sales-wait
test("what was sold without a network is ordered once, also when responses are lost and a day has passed", async () => {
  const store = storeOf(service);
  const QUEUE = join(project, crypto.randomUUID());
  const animals = await Promise.all([1, 2, 3, 4].map(() => store.pets.create({ name: "Far away", categoryId: 1 })));
  const [other = "", ...ids] = animals.map(({ animal }) => String(animal.id));
  const ordered = async () => {
    const found = await Promise.all(ids.map((petId) => store.orders.list({ petId }).all(10)));
    return found.map((orders) => orders.length);
  };
  const sell = async (base: URL, ...args: string[]) => {
    const child = start("offline.mjs", base, { QUEUE }, args);
    const [stdout] = await Promise.all([text(child.stdout), once(child, "close")]);
    return [child.exitCode, stdout.trim().split("\n").filter(Boolean).length];
  };
  const waiting = () =>
    readdirSync(QUEUE)
      .toSorted()
      .map((name) => join(QUEUE, name));
  // Nobody listens there.
  const nowhere = new URL(`http://127.0.0.1:${await getPort()}`);
  // While one sale is sent, somebody writes down the next ones.
  const slow = await serve(async (request, response) => {
    if (waiting().length === 1) expect(await sell(nowhere, ...ids)).toEqual([1, 0]);
    const headers = request.headers as Record<string, string>;
    const found = await fetch(new URL(request.url ?? "", service.url), {
      method: "POST",
      headers,
      body: await text(request),
    });
    response.writeHead(found.status, { "Content-Type": "application/json" }).end(await found.text());
  });
  const before = start("offline.mjs", new URL(slow), { QUEUE }, [other]);
  await Promise.all([once(before, "close"), text(before.stdout)]);
  expect(await store.orders.list({ petId: other }).all(10)).toHaveLength(1);
  expect(waiting()).toHaveLength(3);
  expect(await ordered()).toEqual([0, 0, 0]);

  // The first response is lost, and the program ends before it can repeat the request.
  await using proxy = await startChaosProxy(service.url, () => "connection dropped after the write");
  expect(await sell(proxy.url)).toEqual([1, 0]);
  expect(await ordered()).toEqual([1, 0, 0]);
  // The next day. The service knows the first key no longer, and never knew the second.
  const firstUsed = new Date(Date.now() - 25 * 3_600_000).toISOString();
  for (const file of waiting().slice(0, 2))
    writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, "utf8")), firstUsed }));
  const { DB } = await service.worker.getEnv();
  await DB.prepare("DELETE FROM idempotency_keys").run();
  await store.orders.place({ petId: ids[2] ?? "" });
  expect(await sell(service.url)).toEqual([0, 3]);
  expect(await ordered()).toEqual([1, 1, 1]);
  expect(waiting()).toEqual([]);
});

/** Milliseconds of changes. */
const CHANGES = Number(process.env["CHANGES"] ?? 15) * 1_000;
/** The rows of a copy, and the same of the database. */
const COPIED = {
  animals: ["pets", "version", "name", "category_id", "status", "external_id"],
  categories: ["categories", "version", "name", "description"],
  orders: ["orders", "version", "pet_id", "status", "created_at", "ship_date", "reference"],
} as const;

// Promise: copies-survive-crashes, the-first-copy
test("a copy equals the store after changes, faults, and kills of its program", { timeout: 240_000 }, async () => {
  const FILE = join(project, "store.sqlite");
  const place = () => {
    try {
      return readFile(FILE, "SELECT cursor FROM feed")[0]?.["cursor"];
    } catch {
      return undefined; // There is no table yet.
    }
  };
  await using proxy = await startChaosProxy(service.url, atRandom(0.3), 3_000);
  // Enough that none meets its limit.
  const keys = await Promise.all(Array.from({ length: 16 }, () => grantProductionKey(service.worker)));
  const end = performance.now() + CHANGES;
  const isOver = () => performance.now() > end;
  const options = { seed: Date.now(), isProxied: false, timeout: 60_000 };
  const changes = runPrograms(service.url, keys, options, isOver);
  let kills = 0;
  while (!isOver()) {
    const child = start("copy.mjs", proxy.url, { FILE, IDLE: "200" });
    const closed = once(child, "close");
    const written = Promise.withResolvers<void>();
    const watcher = watch(project, (_, file) => file === "store.sqlite-wal" && written.resolve());
    await Promise.race([written.promise, closed, changes]);
    // Half of the kills come as soon as it writes.
    if (Math.random() < 0.5) await wait(Math.random() * 500);
    if (child.kill("SIGKILL")) kills++;
    await closed;
    watcher.close();
  }
  await changes;

  const { pets, events } = storeOf(service);
  const catchUp = async () => {
    const child = start("copy.mjs", service.url, { FILE, IDLE: "200" });
    const { cursor } = await events.list({ cursor: "latest" });
    await expect.poll(place, { timeout: 60_000 }).toBe(cursor);
    child.kill("SIGKILL");
    await once(child, "close");
  };
  await catchUp();
  // A change that the file refuses: the place stays before it.
  const change = (sql: string) => {
    using file = new DatabaseSync(FILE);
    file.exec(sql);
  };
  change("CREATE TRIGGER full BEFORE INSERT ON animals BEGIN SELECT RAISE(ABORT, 'full'); END");
  await pets.create({ name: "Refused once", categoryId: 1n, status: "available", externalId: "E-1" });
  await once(start("copy.mjs", service.url, { FILE }), "close");
  change("DROP TRIGGER full");
  await catchUp();
  console.log({ kills, requests: proxy.requests });
  expect(kills).toBeGreaterThan(2);
  const { DB } = await service.worker.getEnv();
  for (const [copy, [table, ...columns]] of Object.entries(COPIED)) {
    const texts = ["id", ...columns].map((column) => `CAST(${column} AS TEXT) AS ${column}`);
    const { results } = await DB.prepare(`SELECT ${texts.join()} FROM ${table} ORDER BY ${table}.id`).all();
    expect(results.length).toBeGreaterThan(1);
    expect(readFile(FILE, `SELECT ${texts.join()} FROM ${copy} ORDER BY ${copy}.id`), table).toEqual(results);
  }
});
