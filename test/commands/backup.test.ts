import { execFileSync, spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { runBackup, runRestore } from "../../ops/backup/command-line.ts";
import { connect } from "../../ops/release/cloudflare.ts";
import { migrate } from "../../ops/release/database.ts";
import {
  addKey,
  change,
  CHANGES,
  type Contents,
  contentsOf,
  contentsOfBackup,
  countersOf,
  disabled,
  everythingIn,
  fill,
  randomNumbers,
  TABLES,
} from "./backup-data.ts";
import type { CloudflareApi } from "./cloudflare/api.ts";
import {
  addReleases,
  closeAccount,
  endLeases,
  failureOf,
  lastLine,
  openAccount,
  runHere,
  succeed,
  useCheckout,
} from "./cloudflare/fixture.ts";
import { Refusal } from "./cloudflare/route.ts";

// Backups of the staging environment of a fake account, and their restores into its production.

const SOURCE = "petstore-staging";
const TARGET = "petstore-production";
const MARGIN = 1_000_000_000n;
/** Requests of which one meets a failure. BAD_DAY=1000 goes through all of them, as in bad-day.test.ts. */
const STEP = process.env["BAD_DAY"] === undefined ? 4 : 1;
const SEEDS = Number(process.env["BAD_DAY"] ?? 30);
/** Is repeated at once. */
const FAILURE = new Refusal(500, 10_013, "Unknown error", { "Retry-After": "0" });

let api: CloudflareApi;
let scratch: string;
let folder: string;
const shared = useCheckout();
beforeEach(async () => {
  api = await openAccount();
  addReleases(api, SOURCE, 1);
  addReleases(api, TARGET, 1);
  scratch = mkdtempSync(join(tmpdir(), "petstore-backup-"));
  folder = join(scratch, "backup");
});
afterEach(async () => {
  await closeAccount(api);
  rmSync(scratch, { recursive: true });
});

const backup = (to = folder) => runHere(runBackup, ["--env", "staging", "--to", to]);
const ON_PRODUCTION = ["--env", "production", "--yes"];
const restore = (...more: string[]) =>
  runHere(runRestore, [...ON_PRODUCTION, "--from", folder, "--source", SOURCE, ...more]);
const contents = (name: string) => api.databases.use(name, contentsOf);
const counters = (name: string) => api.databases.use(name, countersOf);
const manifest = () => JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));

async function expectBackup(): Promise<void> {
  const result = await backup();
  expect(result, result.stderr).toMatchObject({ code: 0, stdout: "" });
}

/** Backs up rows with everything that a column may hold. */
async function expectBackupOfData(): Promise<void> {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  await expectBackup();
}

/** Lets a restore fail at a query. */
async function interruptRestore(isAt: (sql: string) => boolean): Promise<void> {
  api.databases.atQuery = (sql, run) => {
    if (isAt(sql)) throw FAILURE;
    return run();
  };
  expect(await restore()).toMatchObject({ code: 1 });
  api.databases.atQuery = (_, run) => run();
  endLeases(api);
}

const LAST_MIGRATIONS = [
  "0007_references_of_orders.sql",
  "0008_inventory.sql",
  "0009_webhooks.sql",
  "0010_concurrency_of_webhooks.sql",
];
const UNRECORD_THEM = `DELETE FROM d1_migrations WHERE name IN ('${LAST_MIGRATIONS.join("', '")}')`;
const RECORD_THEM = `INSERT INTO d1_migrations (name) VALUES ('${LAST_MIGRATIONS.join("'), ('")}')`;
const addLastMigrations = (name: string) => {
  for (const migration of LAST_MIGRATIONS) api.databases.query(name, readFileSync(`drizzle/${migration}`, "utf8"));
  api.databases.query(name, RECORD_THEM);
};

/** A backup of the release before the last migrations. The source then gets it. */
async function expectEarlierBackup(): Promise<void> {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  for (const sql of [
    "DROP INDEX orders_reference_status_idx",
    "ALTER TABLE orders DROP COLUMN reference",
    "DROP TABLE inventory",
    "DROP TABLE webhooks",
    UNRECORD_THEM,
  ])
    api.databases.query(SOURCE, sql);
  await expectBackup();
  addLastMigrations(SOURCE);
}

/** Whether a counter is higher by the margin of a backup of today. */
function expectRaised(counter: bigint | undefined, before = 0n): void {
  expect(counter).toBeGreaterThanOrEqual(before + MARGIN);
  expect(counter).toBeLessThan(before + 2n * MARGIN);
}

/** Whether the target is what the backup of this source promises. */
function expectRestored(source: Contents, before: { [table: string]: bigint }): void {
  const { events = [], ...others } = contents(TARGET);
  const { events: lost = [], ...expected } = disabled(source);
  expect(Object.keys(others)).toEqual(Object.keys(expected));
  for (const [table, rows] of Object.entries(expected)) expect(others[table], table).toEqual(rows);
  const raised = counters(TARGET);
  expect(Object.keys(raised).toSorted()).toEqual(Object.keys(before).toSorted());
  for (const [table, id] of Object.entries(before)) expectRaised(raised[table], id);
  // The first request counts the animals anew.
  expect(api.databases.query(TARGET, "SELECT * FROM inventory")).toEqual([]);
  expect(events).toHaveLength(1);
  const places = api.databases.query(TARGET, "SELECT id, type, data FROM events");
  const newest = api.databases.query(SOURCE, "SELECT max(id) AS id FROM events");
  expect(places).toMatchObject([{ type: "feed.started", data: "{}" }]);
  expect(Number(places[0]?.["id"])).toBeGreaterThanOrEqual(Number(newest[0]?.["id"]) + 1_000_000_000);
  // The service answers 410 when it has no event with the id and the tag of the cursor.
  const present = new Set(events.map(([id, tag]) => `${id} ${tag}`));
  expect(lost.filter(([id, tag]) => present.has(`${id} ${tag}`))).toEqual([]);
  const tables = api.databases.query(TARGET, "SELECT name FROM sqlite_schema WHERE name = 'restore_progress'");
  expect(tables).toEqual([]);
  const names = (name: string) => api.databases.query(name, "SELECT name FROM d1_migrations ORDER BY id");
  expect(names(TARGET)).toEqual(names(SOURCE));
}

test("every value comes back", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite, { pets: 5_000, responses: 12 }));
  const [source, before] = [contents(SOURCE), counters(SOURCE)];
  let [longest, pages] = [0, 0];
  api.databases.atQuery = (sql, run) => {
    const result = run();
    longest = Math.max(longest, sql.length, Buffer.byteLength(JSON.stringify(result)));
    if (sql.includes(`FROM "idempotency_keys"`) && sql.includes("OVER")) pages++;
    return result;
  };
  await expectBackup();
  // Four rows of 120 KB are a page.
  expect(pages).toBeGreaterThan(3);
  expect(longest).toBeLessThan(2_000_000);
  expect(contentsOfBackup(folder)).toEqual(source);
  expect(Object.keys(manifest().tables)).toEqual(TABLES);
  expect(existsSync(join(folder, "unfinished"))).toBe(false);
  const result = await restore();
  expect(result, result.stderr).toMatchObject({ code: 0, stdout: "" });
  expectRestored(source, before);
  expect(result.stderr).toContain(
    "\nEvery webhook is disabled. Before you enable one: docs/runbook/lost-data.md, step 6.\n",
  );
  const created = api.databases.use(TARGET, (sqlite) => {
    const add = sqlite.prepare(
      "INSERT INTO pets (name, category_id, status) VALUES ('New', 1, 'available') RETURNING CAST(id AS TEXT) AS id",
    );
    return BigInt(String(add.get()?.["id"]));
  });
  expectRaised(created, before["pets"]);
});

test("a table that never had a row gets no id twice either", async () => {
  await expectBackup();
  await succeed(restore());
  expectRestored(contents(SOURCE), { pets: 0n, categories: 0n, orders: 0n, webhooks: 0n });
});

test("a second new database from the same backup gets no id of the first one", async () => {
  await expectBackup();
  await succeed(restore("--overwrite", TARGET));
  const first = counters(TARGET)["pets"] ?? expect.unreachable();
  api.databases.query(TARGET, "INSERT INTO pets (name, category_id, status) VALUES ('New', 1, 'available')");
  api.databases.all.delete(api.databases.find(TARGET).uuid);
  api.databases.add(TARGET, "auto");
  await succeed(restore());
  expect(counters(TARGET)["pets"]).toBeGreaterThan(first + 1n);
});

test("a second restore gives out no id of the time after the first one, and begins the feed after all events", async () => {
  await expectBackupOfData();
  await restore();
  api.databases.use(TARGET, (sqlite) => change(sqlite, "creations of categories", randomNumbers(1)));
  // As after the restore of a newer backup.
  api.databases.query(TARGET, `UPDATE events SET id = id + ${5n * MARGIN}`);
  const newest = () => Number(api.databases.query(TARGET, "SELECT max(id) AS id FROM events")[0]?.["id"]);
  const [before, last] = [counters(TARGET), newest()];
  await succeed(restore("--overwrite", TARGET));
  expectRestored(contents(SOURCE), before);
  expect(newest()).toBeGreaterThan(last);
});

/** Writes other lines into a file of the backup. */
function editFile(edit: (lines: string[]) => string[]): void {
  const path = join(folder, "pets-0001.ndjson.gz");
  writeFileSync(path, gzipSync(edit(gunzipSync(readFileSync(path)).toString().split("\n")).join("\n")));
}

/** Does the same, with the digests of these lines: as somebody who may write to the backup. */
function forge(edit: (lines: string[]) => string[]): void {
  editFile(edit);
  const text = gunzipSync(readFileSync(join(folder, "pets-0001.ndjson.gz")));
  editManifest((value) => (value.tables.pets.sha256 = createHash("sha256").update(text).digest("hex")));
}

function editText(edit: (text: string) => string): void {
  const path = join(folder, "manifest.json");
  const text = readFileSync(path, "utf8");
  const edited = edit(text);
  expect(edited).not.toBe(text);
  writeFileSync(path, edited);
}

/** Writes another manifest, with its digest. */
function editManifest(edit: (value: ReturnType<typeof manifest>) => void): void {
  const { sha256: _, ...value } = manifest();
  edit(value);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  const digest = createHash("sha256").update(text).digest("hex");
  writeFileSync(join(folder, "manifest.json"), text.replace("{\n", `{\n  "sha256": "${digest}",\n`));
}

const REFUSALS: { [name: string]: { spoil: () => unknown; message: RegExp; args?: string[] } } = {
  "no manifest": { spoil: () => rmSync(join(folder, "manifest.json")), message: /has no manifest\.json/ },
  "a manifest of another format": {
    spoil: () => editManifest((value) => (value.format = 3)),
    message: /has format 3\. This program reads formats up to 2\.$/,
  },
  "a manifest that was cut off": {
    spoil: () => truncateSync(join(folder, "manifest.json"), 200),
    message: /manifest\.json is damaged: it is not JSON/,
  },
  "a manifest of something else": {
    spoil: () => writeFileSync(join(folder, "manifest.json"), "[]"),
    message: /manifest\.json is damaged: it is not a manifest/,
  },
  "a manifest with a path": {
    spoil: () => editManifest((value) => (value.tables.pets.files = ["../pets-0001.ndjson.gz"])),
    message: /manifest\.json is damaged/,
  },
  "a manifest with SQL": {
    spoil: () => editManifest((value) => (value.counters["pets'; DROP TABLE pets; --"] = "1")),
    message: /manifest\.json is damaged/,
  },
  "a manifest that does not have its digest": {
    spoil: () => editText((text) => text.replace(/"orders": "\d+"/, '"orders": "1"')),
    message: /manifest\.json is damaged: it does not have the digest in its second line\.$/,
  },
  "a manifest without its digest": {
    spoil: () => editText((text) => text.replace(/ {2}"sha256": "\w+",\n/, "")),
    message: /manifest\.json is damaged: it is not a manifest\.$/,
  },
  "a counter below the ids of its table": {
    spoil: () => editManifest((value) => (value.counters.pets = "2305843009213693952")),
    message:
      /^The manifest says that pets gave out no id above 2305843009213693952, and the backup has 2305843009213693953\.$/,
  },
  "a place in the feed below its events": {
    spoil: () => editManifest((value) => (value.moment.event.id = "1")),
    message: /^The manifest says that events gave out no id above 1, and the backup has \d+\.$/,
  },
  "a counter that would leave no id": {
    spoil: () => editManifest((value) => (value.counters.orders = String(2n ** 63n - 1n))),
    message: /^The backup has given out the id 9223372036854775807 in orders: a restore would leave too few\.$/,
  },
  "a counter that would rise above 2^62": {
    spoil: () => editManifest((value) => (value.counters.orders = String(2n ** 62n - MARGIN + 1n))),
    message: /^The backup has given out the id 4611686017427387905 in orders/,
  },
  "a place in the feed that would leave no id": {
    spoil: () => editManifest((value) => (value.moment.event.id = String(2n ** 63n - 1n))),
    message: /^The backup has given out the id 9223372036854775807 in events/,
  },
  "a table without its counter": {
    spoil: () => editManifest((value) => delete value.counters.orders),
    message: /^The backup does not say which id orders gave out last\.$/,
  },
  "a moment in the future": {
    spoil: () => editManifest((value) => (value.moment.time = value.moment.time.replace(/^\d+/, "2999"))),
    message: /^The backup is of 2999-\S+Z, which is in the future: petstore-production has the time 2\S+Z\.$/,
  },
  "a manifest without a table": {
    spoil: () => editManifest((value) => delete value.tables.orders),
    message: /orders/,
  },
  "a manifest with a table of its own": {
    spoil: () => editManifest((value) => (value.tables.others = value.tables.pets)),
    message: /others/,
  },
  "a manifest with another column": {
    spoil: () => editManifest((value) => value.tables.pets.columns.push("owner")),
    message: /pets/,
  },
  "a missing file": {
    spoil: () => rmSync(join(folder, "pets-0001.ndjson.gz")),
    message: /pets-0001\.ndjson\.gz is missing\.$/,
  },
  "a truncated file": {
    spoil: () => truncateSync(join(folder, "pets-0001.ndjson.gz"), 300),
    message: /pets-0001\.ndjson\.gz is damaged: unexpected end of file/,
  },
  "an empty file": {
    spoil: () => truncateSync(join(folder, "pets-0001.ndjson.gz"), 0),
    message: /pets(?:-0001\.ndjson\.gz)? is damaged/,
  },
  "a flipped byte": {
    spoil: () => {
      const path = join(folder, "pets-0001.ndjson.gz");
      const bytes = readFileSync(path);
      bytes.writeUInt8(bytes.readUInt8(300) ^ 1, 300);
      writeFileSync(path, bytes);
    },
    message: /pets(?:-0001\.ndjson\.gz)? is damaged/,
  },
  "an exchanged line": {
    spoil: () => editFile(([first = "", ...others]) => [first.replace("Rex", "Max"), ...others]),
    message: /pets is damaged: its \d+ rows in .* are not the \d+ of the manifest/,
  },
  "a missing line": {
    spoil: () => editFile(([, ...others]) => others),
    message: /pets is damaged/,
  },
  "an added line": {
    spoil: () => editFile((lines) => ['{"id":0}', ...lines]),
    message: /pets-0001\.ndjson\.gz is damaged: it has more rows than the \d+ of the manifest$/,
  },
  "lines in another order": {
    spoil: () => forge(([first = "", second = "", ...others]) => [second, first, ...others]),
    message: /^pets is damaged: the id 1 comes after 2\.$/,
  },
  "JSON without its end": {
    spoil: () => forge(([first = "", ...others]) => [first.slice(0, -1), ...others]),
    message: /^pets is damaged: the line of the id 1 is not one object\.$/,
  },
  "a second row in a line, with an id near 2^63": {
    spoil: () =>
      forge(([first = "", ...others]) => [`${first},${first.replace("1", "9223372036854775806")}`, ...others]),
    message: /^pets is damaged: the line of the id 1 is not one object\.$/,
  },
  "a status that does not exist": {
    spoil: () => forge(([first = "", ...others]) => [first.replace("available", "lost"), ...others]),
    message: /^pets is damaged: CHECK constraint failed: pets_status_check$/,
  },
  "a text where a number stands": {
    spoil: () => forge(([first = "", ...others]) => [first.replace(/"version":1/, '"version":"x"'), ...others]),
    message: /^pets is damaged: the row 1 has no integer as its version\.$/,
  },
  "a value that the table does not keep": {
    spoil: () => forge(([first = "", ...others]) => [first.replace("}", ',"owner":"x"}'), ...others]),
    message: /^pets is damaged: its lines are not those of its rows\.$/,
  },
  "a name of 3 MB": {
    spoil: () => forge(([first = "", ...others]) => [first.replace("Rex", "x".repeat(3_000_000)), ...others]),
    message: /pets-0001\.ndjson\.gz is damaged: a line has more than 1999998 bytes$/,
  },
  "a line without an end": {
    spoil: () => writeFileSync(join(folder, "pets-0001.ndjson.gz"), gzipSync(Buffer.alloc(2 ** 24, "x"))),
    message: /pets-0001\.ndjson\.gz is damaged: a line has more than 1999998 bytes$/,
  },
  "a line that is no row": {
    spoil: () => editFile((lines) => ["{}", ...lines]),
    message: /pets-0001\.ndjson\.gz is damaged: a line has no id/,
  },
  "a migration that this code lacks": {
    spoil: () => editManifest((value) => value.migrations.push({ name: "9999_later.sql", sha256: "" })),
    message: /has the migration 9999_later\.sql\. This code does not have it/,
  },
  "a migration with another text": {
    spoil: () => editManifest((value) => (value.migrations[0].sha256 = "")),
    message: /0000_pets\.sql\. Its text differs here/,
  },
  "a target with data": {
    spoil: () => api.databases.use(TARGET, (sqlite) => fill(sqlite)),
    message:
      /^petstore-production has data in categories, idempotency_keys, orders, pets, webhooks\. To replace all of it, say --overwrite petstore-production\.$/,
  },
  "a target with ids that leave too few": {
    spoil: () => api.databases.query(TARGET, `INSERT INTO sqlite_sequence VALUES ('orders', ${2n ** 62n})`),
    args: ["--overwrite", TARGET],
    message:
      /^petstore-production has given out the id 4611686018427387904 in orders: a restore would leave too few\.$/,
  },
  "the name of another database": {
    spoil: () => api.databases.use(TARGET, (sqlite) => fill(sqlite)),
    args: ["--overwrite", SOURCE],
    message: /^--overwrite names petstore-staging, and the database is petstore-production\.$/,
  },
};

test.each(Object.keys(REFUSALS))("a restore refuses %s and changes nothing", async (name) => {
  const { spoil, message, args = [] } = REFUSALS[name] ?? expect.unreachable();
  await expectBackupOfData();
  spoil();
  const before = api.databases.use(TARGET, everythingIn);
  expect(await failureOf(restore(...args))).toMatch(message);
  expect(api.databases.use(TARGET, everythingIn)).toEqual(before);
});

test("a backup with ids just below the bound is restored", async () => {
  await expectBackup();
  const highest = 2n ** 62n - 2n * MARGIN;
  editManifest((value) => {
    value.counters.orders = String(highest);
    value.moment.event.id = String(highest);
  });
  await succeed(restore());
  expectRaised(counters(TARGET)["orders"], highest);
});

test("the clock of the database tells whether a backup is of the future", async () => {
  await expectBackup();
  let time = "2026-01-01T00:00:00.000Z";
  api.databases.atQuery = (sql, run) =>
    sql.startsWith("SELECT strftime") ? [{ results: [{ time }], success: true, meta: {} }] : run();
  const before = api.databases.use(TARGET, everythingIn);
  expect(lastLine(await restore())).toMatch(
    / is in the future: petstore-production has the time 2026-01-01T00:00:00\.000Z\.$/,
  );
  expect(api.databases.use(TARGET, everythingIn)).toEqual(before);
  editManifest((value) => (value.moment.time = "2999-01-01T00:00:59.000Z"));
  time = "2999-01-01T00:00:00.000Z";
  await succeed(restore());
});

test("a backup of format 1 is restored, with a line that nothing proves its manifest", async () => {
  await expectBackupOfData();
  expect((await restore()).stderr).not.toContain("Nothing proves");
  const { sha256: _, ...value } = manifest();
  writeFileSync(join(folder, "manifest.json"), JSON.stringify({ ...value, format: 1 }));
  const before = counters(TARGET);
  const result = await succeed(restore("--overwrite", TARGET));
  expect(result.stderr).toContain("Nothing proves the manifest of this backup");
  expectRestored(contents(SOURCE), before);
});

test("a backup of another database is restored only when somebody names that database", async () => {
  await expectBackup();
  const before = api.databases.use(TARGET, everythingIn);
  const asked: string[] = [];
  const restoreAs = (answer: string | undefined, ...more: string[]) => {
    const ask = async (question: string) => {
      asked.push(question);
      return answer ?? "";
    };
    const run: typeof runRestore = (args, terminal) =>
      runRestore(args, answer === undefined ? terminal : { ...terminal, ask });
    return runHere(run, [...ON_PRODUCTION, "--from", folder, ...more]);
  };
  const what = `This is a backup of ${SOURCE}, and the database is ${TARGET}.`;
  expect(lastLine(await restoreAs(undefined))).toBe(`${what} To restore it all the same, say --source ${SOURCE}.`);
  expect(lastLine(await restoreAs(undefined, "--source", TARGET))).toBe(
    `--source names ${TARGET}, and the backup is of ${SOURCE}.`,
  );
  expect(lastLine(await restoreAs("yes"))).toBe("Nothing was changed.");
  expect(api.databases.use(TARGET, everythingIn)).toEqual(before);
  await succeed(restoreAs(SOURCE));
  expect(asked).toEqual(Array(2).fill(`${what} Type ${SOURCE} to go on: `));
});

test("only the owner reads a backup, finished or not", async () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
  api.breakFrom(10, FAILURE);
  expect(await backup()).toMatchObject({ code: 1 });
  api.repair();
  const work = join(folder, "unfinished");
  expect([folder, work].map(modeOf)).toEqual(["700", "700"]);
  const parts = readdirSync(work).map((file) => modeOf(join(work, file)));
  expect(new Set(parts)).toEqual(new Set(["600"]));
  await expectBackup();
  const files = readdirSync(folder).map((file) => modeOf(join(folder, file)));
  expect(files.length).toBeGreaterThan(1);
  expect(new Set(files)).toEqual(new Set(["600"]));
});

test("a restore of production asks, and changes nothing without an answer", async () => {
  await expectBackup();
  const before = api.databases.use(TARGET, everythingIn);
  const result = await runHere(runRestore, ["--env", "production", "--from", folder]);
  expect(result).toMatchObject({ code: 1, stderr: "This replaces the data of petstore-production. Say --yes.\n" });
  expect(api.databases.use(TARGET, everythingIn)).toEqual(before);
});

test("a restore from a bucket goes on after a failure, and says when the bucket has no such backup", async () => {
  const bucket = `petstore-test-${process.pid}`;
  const name = (moment: string) => [...ON_PRODUCTION, "--bucket", bucket, "--from", `${TARGET}/${moment}`];
  onTestFinished(() => rmSync(join("backups", bucket), { recursive: true, force: true }));
  api.databases.use(TARGET, (sqlite) => fill(sqlite));
  const before = contents(TARGET);
  await succeed(runHere(runBackup, ["--env", "production", "--to", folder, "--bucket", bucket]));
  const { objects } = api.buckets;
  const { time } = manifest().moment;
  const path = `${bucket}/${TARGET}/${time}/pets-0001.ndjson.gz`;
  const pets = objects.get(path) ?? expect.unreachable();
  const uploads = api.requests.filter((request) => request.startsWith("PUT") && request.includes(`/${time}/`));
  expect(uploads.length).toBeGreaterThan(1);
  expect(uploads.at(-1)).toMatch(/manifest\.json$/);
  objects.delete(path);
  for (const moment of [time, time, "2026-01-01", "2026-01-01"]) {
    expect(await failureOf(runHere(runRestore, name(moment)))).toMatch(
      `The bucket ${bucket} has no ${TARGET}/${moment}/${moment === time ? "pets-0001.ndjson.gz" : "manifest.json"}.`,
    );
  }
  objects.set(path, pets);
  api.databases.all.delete(api.databases.find(TARGET).uuid);
  api.databases.add(TARGET, "auto");
  await succeed(runHere(runRestore, name(time)));
  expect(contents(TARGET)["pets"]).toEqual(before["pets"]);
  const copy = join("backups", bucket, TARGET, time);
  const modes = [copy, ...readdirSync(copy).map((file) => join(copy, file))].map((path) => statSync(path).mode & 0o777);
  expect(modes[0]).toBe(0o700);
  expect(new Set(modes.slice(1))).toEqual(new Set([0o600]));
  expect(api.databases.query(TARGET, "SELECT moment FROM last_backup")).toEqual([{ moment: time }]);
});

test("a backup removes older ones from the bucket, never itself, and nothing else", async () => {
  const old = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString();
  const kept = [
    `${SOURCE}/${old(29)}/manifest.json`,
    `${SOURCE}/notes/x`,
    `unfinished/${TARGET}/1`,
    `${TARGET}/${old(99)}/x`,
  ];
  const removed = ["manifest.json", "pets-0001.ndjson.gz"].map((file) => `${SOURCE}/${old(31)}/${file}`);
  const { objects } = api.buckets;
  for (const key of [...kept, ...removed]) objects.set(`petstore-backups/${key}`, new ArrayBuffer(1));
  const backUp = (to: string, ...more: string[]) =>
    runHere(runBackup, ["--env", "staging", "--to", join(scratch, to), "--bucket", "petstore-backups", ...more]);
  await succeed(backUp("all"));
  expect([...objects.keys()].filter((key) => key.includes(old(31).slice(0, 10)))).toHaveLength(2);
  await succeed(backUp("some", "--keep", "30d"));
  const left = [...objects.keys()].map((key) => key.slice("petstore-backups/".length));
  expect(left).toEqual(expect.arrayContaining(kept));
  expect(left).not.toEqual(expect.arrayContaining([expect.stringContaining(old(31).slice(0, 10))]));
  // A bucket that keeps everything is no failure of the backup.
  api.break("DELETE", old(29).slice(0, 10));
  expect(await backUp("last", "--keep", "0s")).toMatchObject({
    code: 0,
    stderr: expect.stringContaining("an old one is left"),
  });
  api.repair();
  await succeed(backUp("one", "--keep", "0s"));
  expect(
    [...objects.keys()].filter((key) => key.includes(`/${SOURCE}/2`) && key.endsWith("/manifest.json")),
  ).toHaveLength(1);
});

test("a backup never touches a finished one, nor a part of another database", async () => {
  await expectBackup();
  const before = readFileSync(join(folder, "manifest.json"), "utf8");
  expect(await backup()).toMatchObject({ code: 1, stderr: `${folder} has a finished backup. Name another folder.\n` });
  expect(readFileSync(join(folder, "manifest.json"), "utf8")).toBe(before);
  api.breakFrom(10, FAILURE);
  const other = join(scratch, "other");
  expect(await backup(other)).toMatchObject({ code: 1 });
  api.repair();
  const production = () => runHere(runBackup, ["--env", "production", "--to", other]);
  expect(lastLine(await production())).toBe(`${other}/unfinished has a part of a backup of ${SOURCE}.`);
  // Only the removal of the parts was interrupted.
  cpSync(folder, other, { recursive: true });
  expect(lastLine(await production())).toContain(`${other} has a backup of ${SOURCE}`);
  await succeed(backup(other));
  expect(existsSync(join(other, "unfinished"))).toBe(false);
});

test("a backup removes the files that another attempt left", async () => {
  mkdirSync(folder);
  writeFileSync(join(folder, "pets-0002.ndjson.gz"), gzipSync("{}\n"));
  await expectBackup();
  expect(readdirSync(folder)).not.toContain("pets-0002.ndjson.gz");
});

test.each([
  ["its copy", 100, "disk I/O error\n"],
  ["its files", 700, "EFBIG: file too large, write\n"],
])("a backup whose disk is full with %s goes on when there is room", async (name, kilobytes, problem) => {
  api.databases.use(SOURCE, (sqlite) => {
    fill(sqlite);
    sqlite.exec(`INSERT INTO pets (name, category_id, status)
      SELECT hex(randomblob(500)), 1, 'sold' FROM json_each('[${"1,".repeat(1_999)}1]')`);
  });
  if (name === "its files") {
    // Its copy is whole, and it cannot replace this one.
    mkdirSync(join(folder, "categories-0001.ndjson.gz"), { recursive: true });
    expect(await backup()).toMatchObject({ code: 1 });
    rmSync(join(folder, "categories-0001.ndjson.gz"), { recursive: true });
  }
  const script = `ulimit -f ${kilobytes}; exec "${process.execPath}" ops/run.ts backup --env staging --to "${folder}"`;
  const child = spawn("bash", ["-c", script], { cwd: shared.checkout.folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  const [code] = await once(child, "close");
  expect({ code, said }).toMatchObject({ code: 1, said: expect.stringContaining(problem) });
  expect(existsSync(join(folder, "manifest.json"))).toBe(false);
  const source = contents(SOURCE);
  await expectBackup();
  expect(contentsOfBackup(folder)).toEqual(source);
});

test("an unfinished backup that nobody can read is thrown away", async () => {
  mkdirSync(join(folder, "unfinished"), { recursive: true });
  writeFileSync(join(folder, "unfinished/copy.sqlite"), "x".repeat(9_999));
  expect(lastLine(await backup())).toBe(`${folder}/unfinished was damaged. Run the backup again: it starts anew.`);
  await expectBackup();
});

/** Runs a command in a process of its own, which gets a signal when a query of it has this text. */
async function endAtQuery(signal: NodeJS.Signals, text: string, args: string[]): Promise<string> {
  const child = spawn(process.execPath, args, { cwd: shared.checkout.folder, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  child.stderr.on("data", (chunk: Buffer) => (said += chunk.toString()));
  api.databases.atQuery = (sql, run) => {
    if (!child.killed && sql.includes(text)) child.kill(signal);
    return run();
  };
  const [code] = await once(child, "close");
  api.databases.atQuery = (_, run) => run();
  expect(code, said).toBe(1);
  return said.trim().split("\n").at(-1) ?? "";
}

test("a signal has a backup and a restore say how to go on", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  const copying = ["ops/run.ts", "backup", "--env", "staging", "--to", folder];
  expect(await endAtQuery("SIGINT", `FROM "pets"`, copying)).toBe(
    `${folder} has no finished backup. Repeat the command: it goes on.`,
  );
  await expectBackup();
  const restoring = ["ops/run.ts", "restore", ...ON_PRODUCTION, "--from", folder, "--source", SOURCE];
  const earlier = api.databases.use(TARGET, everythingIn);
  expect(await endAtQuery("SIGTERM", "SELECT strftime", restoring)).toBe("This command did not change the database.");
  expect(api.databases.use(TARGET, everythingIn)).toEqual(earlier);
  expect(await endAtQuery("SIGINT", `INSERT INTO "orders"`, restoring)).toBe(
    `${TARGET} has a part of the backup, and nothing of its earlier data. Do not let the service use it. Repeat the command: it goes on.`,
  );
  // It gave its lease back.
  await succeed(restore());
  expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);
});

/** The ids of the processes of workerd that a process started. */
function findWorkerd(parent: number | undefined): number[] {
  const lines = execFileSync("ps", ["-A", "-o", "pid=,ppid=,args="], { encoding: "utf8" }).split("\n");
  return lines.flatMap((line) => {
    const [, pid, ppid, args = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)/.exec(line) ?? [];
    return Number(ppid) === parent && args.includes("workerd") ? [Number(pid)] : [];
  });
}

/** Not whether its parent has noticed its end. */
function isRunning(pid: number): boolean {
  return /^[^Z\s]/.test(spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" }).stdout);
}

test("a local backup that is killed leaves no workerd behind", { timeout: 60_000 }, async () => {
  // It waits for the text of the manifest.
  mkdirSync(join(folder, "unfinished"), { recursive: true });
  const manifestPath = join(folder, "manifest.json");
  execFileSync("mkfifo", [manifestPath]);
  const writer = spawn("sh", ["-c", `exec 3> "$0"; echo open; read line`, manifestPath], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const args = ["ops/run.ts", "backup", "--env", "local", "--persist-to", scratch, "--to", folder];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  onTestFinished(() => [writer, child].forEach((process) => process.kill("SIGKILL")));
  await once(writer.stdout, "data");
  const workerd = findWorkerd(child.pid);
  onTestFinished(() => workerd.filter(isRunning).forEach((pid) => process.kill(pid, "SIGKILL")));
  expect(workerd).toHaveLength(1);
  child.kill("SIGKILL");
  await vi.waitUntil(() => !workerd.some(isRunning), { timeout: 10_000 });
});

test("a backup that fails at any request goes on", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  const source = contents(SOURCE);
  for (let request = 0; ; request += STEP) {
    folder = join(scratch, String(request));
    api.breakFrom(request, FAILURE);
    await backup();
    api.repair();
    const isFinished = existsSync(join(folder, "manifest.json"));
    if (!isFinished) {
      expect((await restore()).code, `request ${request}`).toBe(1);
      await expectBackup();
    }
    expect(contentsOfBackup(folder), `request ${request}`).toEqual(source);
    if (isFinished) return expect(request).toBeGreaterThan(10);
  }
});

/** Whether the last line of a restore that ended early says what the database has. */
function expectTrueState(line: string, earlier: unknown): void {
  const advice = "Do not let the service use it. Repeat the command: it goes on.";
  if (line.endsWith(`has a part of the backup, and nothing of its earlier data. ${advice}`))
    expect(api.databases.query(TARGET, "SELECT loaded FROM restore_progress")).toEqual([{ loaded: 0 }]);
  else if (line.endsWith(`has all rows of the backup, but perhaps not its counters and its feed. ${advice}`))
    expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);
  else if (line.endsWith(`has its earlier data, or the empty tables of the backup. ${advice}`))
    expect(contents(TARGET)["pets"]).toEqual([]);
  else {
    expect(line).not.toContain("Repeat");
    expect(api.databases.use(TARGET, everythingIn)).toEqual(earlier);
  }
}

test("a restore that fails at any request says what the database has, and goes on", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  const [source, before] = [contents(SOURCE), counters(SOURCE)];
  await expectBackup();
  const [empty, earlier] = [api.databases.snapshot(TARGET), api.databases.use(TARGET, everythingIn)];
  for (let request = 0; ; request += STEP) {
    api.databases.restore(TARGET, empty);
    api.breakFrom(request, FAILURE);
    const failed = await restore();
    api.repair();
    if (failed.code === 0) return expect(request).toBeGreaterThan(20);
    expectTrueState(lastLine(failed), earlier);
    endLeases(api);
    const again = await restore();
    expect(again, `request ${request}\n${again.stderr}`).toMatchObject({ code: 0 });
    expectRestored(source, before);
  }
});

test("a restore that was interrupted between two pages of a table goes on with the next page", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite, { pets: 4_100 }));
  const [source, before] = [contents(SOURCE), counters(SOURCE)];
  await expectBackup();
  let loads = 0;
  await interruptRestore((sql) => sql.startsWith(`INSERT INTO "pets"`) && ++loads > 1);
  expect(api.databases.query(TARGET, "SELECT count(*) AS pets FROM pets")).toEqual([{ pets: 2_000 }]);
  await succeed(restore());
  expectRestored(source, before);
});

test("responses that are lost neither double nor lose anything", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  let [lost, count] = ["", 0];
  api.databases.atQuery = (sql, run) => {
    const result = run();
    if (sql === lost) return result;
    lost = sql;
    count++;
    throw FAILURE;
  };
  await expectBackup();
  expect(contentsOfBackup(folder)).toEqual(contents(SOURCE));
  await succeed(restore());
  expectRestored(contents(SOURCE), counters(SOURCE));
  expect(count).toBeGreaterThan(35);
  // Into a new database, whose tables the restore makes.
  api.databases.all.delete(api.databases.find(TARGET).uuid);
  api.databases.add(TARGET, "auto");
  await succeed(restore());
  expectRestored(contents(SOURCE), counters(SOURCE));
});

test("a table that is newer than the backup gives out no id twice", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  api.databases.use(TARGET, (sqlite) => fill(sqlite));
  const before = counters(TARGET);
  api.databases.query(SOURCE, "DELETE FROM idempotency_keys");
  await expectBackup();
  // As of before the orders.
  editManifest((value) => {
    value.migrations = value.migrations.slice(0, 4);
    value.tables.idempotency_keys.columns.pop();
    delete value.tables.orders;
    delete value.tables.events;
    delete value.tables.webhooks;
    delete value.counters.orders;
    delete value.counters.webhooks;
  });
  await succeed(restore("--overwrite", TARGET));
  expectRaised(counters(TARGET)["orders"], before["orders"]);
});

test("a backup of another database is not copied into a bucket", async () => {
  await expectBackup();
  expect(
    await failureOf(runHere(runBackup, ["--env", "production", "--to", folder, "--bucket", "petstore-backups"])),
  ).toBe(`${folder} has a backup of ${SOURCE}, and not of ${TARGET}.`);
  expect([...api.buckets.objects.keys()]).toEqual([]);
});

test.each(["../production", "/srv/backup", "petstore-production/../x", "petstore-production/x?y"])(
  "--from %s names no backup in a bucket",
  async (from) => {
    expect(
      await failureOf(runHere(runRestore, [...ON_PRODUCTION, "--bucket", "petstore-backups", "--from", from])),
    ).toBe(`--from ${from}: a backup in a bucket has the name <database>/<moment>.`);
  },
);

test("a release refuses a database whose restore has not ended, and names the last backup of another", async () => {
  await expectBackup();
  const said: string[] = [];
  const terminal = { print: () => {}, say: (text: string) => void said.push(text), read: async () => "" };
  const cloudflare = await connect(terminal);
  const migrateOf = (name: string) => migrate(cloudflare, api.databases.find(name).uuid, "", terminal);
  await migrateOf(SOURCE);
  expect(said[0]).toBe(`\nLast backup: ${manifest().moment.time}`);
  // As a newer backup that ended before an older one.
  api.databases.query(SOURCE, "UPDATE last_backup SET moment = '2999-01-01T00:00:00.000Z'");
  await succeed(backup(join(scratch, "older")));
  said.length = 0;
  await migrateOf(SOURCE);
  expect(said[0]).toBe("\nLast backup: 2999-01-01T00:00:00.000Z");
  api.databases.query(TARGET, "CREATE TABLE restore_progress (digest TEXT)");
  await expect(migrateOf(TARGET)).rejects.toThrow(
    "A restore of the database has not ended. Repeat it before the release.",
  );
});

test("a restore of another backup begins again over one that was interrupted", async () => {
  await expectBackupOfData();
  // All rows are there, and the last transaction is not.
  await interruptRestore((sql) => sql.includes("DELETE FROM events"));
  api.databases.use(SOURCE, (sqlite) => change(sqlite, "changes of pets", randomNumbers(1)));
  const newer = join(scratch, "newer");
  await succeed(backup(newer));
  const other = [...ON_PRODUCTION, "--from", newer, "--source", SOURCE];
  expect(lastLine(await runHere(runRestore, other))).toMatch(/has data in categories/);
  await succeed(runHere(runRestore, [...other, "--overwrite", TARGET]));
  expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);
});

test("a restore notices what the service writes meanwhile", async () => {
  await expectBackupOfData();
  api.databases.atQuery = (sql, run) => {
    const result = run();
    if (sql.startsWith(`INSERT INTO "pets"`))
      api.databases.use(TARGET, (sqlite) => sqlite.exec("UPDATE pets SET name = 'Written' WHERE rowid % 2 = 1"));
    return result;
  };
  expect(lastLine(await restore())).toMatch(/^pets does not have the rows of the backup: .* Did the service write to/);
  api.databases.atQuery = (_, run) => run();
  await succeed(restore("--overwrite", TARGET));
  expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);
});

test("the counters do not come from rows that an earlier restore brought", async () => {
  await expectBackupOfData();
  await interruptRestore((sql) => sql.startsWith(`INSERT INTO "orders"`));
  const planted = `INSERT INTO categories (id, name) VALUES (${2n ** 63n - 2n}, 'planted')`;
  for (const sql of [planted, "UPDATE restore_progress SET digest = ''"]) api.databases.query(TARGET, sql);
  await succeed(restore("--overwrite", TARGET));
  expectRestored(contents(SOURCE), counters(SOURCE));
});

test("a restore that a migration interrupts begins again", async () => {
  await expectEarlierBackup();
  // The restore ends after the first table.
  let loads = 0;
  await interruptRestore((sql) => sql.startsWith("INSERT") && loads++ > 0);
  expect(api.databases.query(TARGET, "SELECT count(*) AS pets FROM pets")).toEqual([{ pets: 0 }]);
  addLastMigrations(TARGET);
  expect(lastLine(await restore())).toMatch(/has data in categories/);
  await succeed(restore("--overwrite", TARGET));
  expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);
});

test("a backup of an earlier release gets the later migrations", async () => {
  await expectEarlierBackup();
  let migrations = 0;
  api.databases.atQuery = (sql, run) => {
    const result = run();
    if (sql.includes(`'${LAST_MIGRATIONS[0]}'`) && migrations++ === 0) throw FAILURE;
    return result;
  };
  await succeed(restore());
  expect(migrations).toBe(1);
  expectRestored(contents(SOURCE), counters(SOURCE));
});

test("a restore waits for a release, holds its lease, and stops when a rollback takes it", async () => {
  await expectBackupOfData();
  api.databases.query(
    TARGET,
    `CREATE TABLE release_lease (id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL, holder TEXT NOT NULL,
      yields INTEGER NOT NULL, expires_at INTEGER NOT NULL);
    INSERT INTO release_lease VALUES (1, 'theirs', 'the release of v1', 1, unixepoch() + 60)`,
  );
  const before = api.databases.use(TARGET, everythingIn);
  let [looks, held] = [0, 0];
  api.databases.atQuery = (sql, run) => {
    const [lease] = api.databases.query(TARGET, "SELECT token, expires_at > unixepoch() AS held FROM release_lease");
    if (lease?.["token"] === "theirs") {
      expect(api.databases.use(TARGET, everythingIn)).toEqual(before);
      if (sql.includes("release_lease") && looks++ > 0) endLeases(api);
    } else if (lease?.["held"] === 1) held++;
    return run();
  };
  const result = await succeed(restore());
  expect(result.stderr).toContain("This waits for the release of v1.");
  expect(held).toBeGreaterThan(20);
  expect(api.databases.query(TARGET, "SELECT yields, expires_at FROM release_lease")).toEqual([
    { yields: 1, expires_at: 0 },
  ]);

  api.databases.atQuery = (sql, run) => {
    const done = run();
    if (sql.startsWith("INSERT")) {
      api.databases.query(TARGET, "UPDATE release_lease SET token = 'theirs', holder = 'the rollback to v1'");
    }
    return done;
  };
  const stopped = await restore("--overwrite", TARGET);
  expect(stopped.code).toBe(1);
  expect(lastLine(stopped)).toMatch(
    /^It stopped, because of the rollback to v1\. Deployed now: .+\. petstore-production has a part of the backup, and nothing of its earlier data\. Do not let the service use it\. Repeat the command: it goes on\.$/,
  );
  expect(api.databases.query(TARGET, "SELECT count(*) AS pets FROM pets")).toEqual([{ pets: 0 }]);
  api.databases.atQuery = (_, run) => run();
  endLeases(api);
  await succeed(restore("--overwrite", TARGET));
  expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);
});

test("a restore whose lease ended unseen says of no other restore that it has all rows", async () => {
  await expectBackupOfData();
  api.databases.atQuery = (sql, run) => {
    if (sql.startsWith("UPDATE restore_progress")) {
      const others = "UPDATE release_lease SET token = 'theirs'; UPDATE restore_progress SET digest = 'theirs'";
      for (const statement of others.split("; ")) api.databases.query(TARGET, statement);
    }
    return run();
  };
  expect(await restore()).toMatchObject({ code: 1 });
  expect(api.databases.query(TARGET, "SELECT * FROM restore_progress")).toMatchObject([
    { digest: "theirs", loaded: 0 },
  ]);
});

/** Backs up while something happens before each query. Returns what was there at the last transaction, and what the backup has. */
async function backUpDuring(before: (query: number, sql: string) => void) {
  let truth: Contents = {};
  let last: { [table: string]: bigint } = {};
  let query = 0;
  api.databases.atQuery = (sql, run) => {
    before(query++, sql);
    const result = run();
    if (sql.includes("sqlite_sequence")) [truth, last] = [contents(SOURCE), counters(SOURCE)];
    return result;
  };
  const result = await backup();
  api.databases.atQuery = (_, run) => run();
  return { result, truth, last, query };
}

async function expectTruth(before: (query: number, sql: string) => void, what = ""): Promise<string> {
  const { result, truth, last } = await backUpDuring(before);
  expect(result, `${what}\n${result.stderr}`).toMatchObject({ code: 0 });
  const found = contentsOfBackup(folder);
  // Comparing texts is faster, and says less.
  if (JSON.stringify(found) !== JSON.stringify(truth)) expect(found, what).toEqual(truth);
  const counted = Object.entries(manifest().counters).map(([table, id]) => [table, BigInt(String(id))]);
  expect(Object.fromEntries(counted)).toEqual(last);
  return result.stderr;
}

test.each(Object.keys(CHANGES))("%s during a backup are in it", async (name) => {
  const random = randomNumbers(7);
  api.databases.use(SOURCE, (sqlite) => fill(sqlite, { pets: 2_100, responses: 6 }));
  await expectTruth((query) => {
    // The backup reads the keys again when all were removed.
    if (name === "the removal of all keys" && query % 7 !== 0) return;
    api.databases.use(SOURCE, (sqlite) => change(sqlite, name, random));
  });
});

const ANEW =
  "petstore-staging was restored or migrated, or removed events that the backup needs. The backup starts anew.";

/** Makes changes of every kind. */
function changeSource(count: number, random: (limit: number) => number): void {
  const names = Object.keys(CHANGES);
  api.databases.use(SOURCE, (sqlite) => {
    for (; count > 0; count--) change(sqlite, names[random(names.length)] ?? "", random);
  });
}

test("random changes during a backup are in it", async () => {
  const empty = api.databases.snapshot(SOURCE);
  for (let seed = 1; seed <= SEEDS; seed++) {
    const random = randomNumbers(seed);
    folder = join(scratch, String(seed));
    api.databases.restore(SOURCE, empty);
    // Two pages of animals, and of keys.
    const pets = seed % 3 === 0 ? 2_050 : 40;
    api.databases.use(SOURCE, (sqlite) => fill(sqlite, { pets, responses: 5 }));
    await expectTruth(() => changeSource(random(4) * random(3), random), `seed ${seed}`);
  }
});

test.each(["before", "after"])("Time Travel to a moment %s the first page starts the backup anew", async (moment) => {
  const empty = api.databases.snapshot(SOURCE);
  let anew = 0;
  for (let travel = 8; travel < 18; travel++) {
    const random = randomNumbers(travel);
    folder = join(scratch, String(travel));
    api.databases.restore(SOURCE, empty);
    api.databases.use(SOURCE, (sqlite) => fill(sqlite, { pets: 20 }));
    let bookmark = api.databases.snapshot(SOURCE);
    changeSource(30, random);
    const said = await expectTruth((query) => {
      if (query === travel - 1 && moment === "after") {
        bookmark = api.databases.snapshot(SOURCE);
        changeSource(9, random);
      }
      if (query !== travel) return;
      api.databases.restore(SOURCE, bookmark);
      changeSource(random(30), random);
    }, `travel before query ${travel}`);
    if (said.includes(ANEW)) anew++;
  }
  expect(anew).toBeGreaterThan(3);
});

test.each(["a removal of all earlier events", "a removal of the events that it has not followed yet", "a migration"])(
  "%s starts the backup anew",
  async (name) => {
    api.databases.use(SOURCE, (sqlite) => fill(sqlite));
    if (name === "a migration") api.databases.query(SOURCE, UNRECORD_THEM);
    const said = await expectTruth((query) => {
      if (query === 7 && name.endsWith("yet")) changeSource(9, randomNumbers(1));
      if (query !== 9) return;
      api.databases.query(SOURCE, "UPDATE pets SET name = 'Migrated', version = version + 1");
      if (name === "a migration") api.databases.query(SOURCE, RECORD_THEM);
      else {
        if (name.endsWith("earlier events")) changeSource(9, randomNumbers(1));
        api.databases.query(SOURCE, "DELETE FROM events WHERE id < (SELECT max(id) FROM events)");
      }
    });
    expect(said.split(ANEW)).toHaveLength(2);
    expect(manifest().migrations).toMatchObject(
      api.databases.query(SOURCE, "SELECT name FROM d1_migrations ORDER BY id"),
    );
  },
);

test("events that the backup has read, and that the job then removes, are not in it", async () => {
  const random = randomNumbers(1);
  let pages = 0;
  await expectTruth((_, sql) => {
    if (sql.includes("'$.data'") && ++pages === 3)
      api.databases.query(SOURCE, "DELETE FROM events WHERE id < (SELECT max(id) FROM events)");
    changeSource(3, random);
  });
  expect(pages).toBeGreaterThan(2);
});

test("a backup of many nights goes on while the job removes the events of earlier ones", async () => {
  const random = randomNumbers(3);
  api.databases.use(SOURCE, (sqlite) => fill(sqlite, { pets: 9_000 }));
  let said = "";
  let nights = 0;
  for (let newest = 0; nights < 20 && !existsSync(join(folder, "manifest.json")); nights++) {
    api.databases.query(SOURCE, `DELETE FROM events WHERE id < ${newest}`);
    newest = Number(api.databases.query(SOURCE, "SELECT max(id) AS id FROM events")[0]?.["id"]);
    let pages = 0;
    let truth: Contents = {};
    api.databases.atQuery = (sql, run) => {
      // A night has time for one page of animals.
      if (sql.includes('FROM "pets" WHERE id >') && pages++ === 1) throw new Refusal(400, 7500, "The night is over");
      const result = run();
      if (sql.includes("sqlite_sequence")) truth = contents(SOURCE);
      return result;
    };
    const { code, stderr } = await backup();
    said += stderr;
    if (code === 0) expect(contentsOfBackup(folder)).toEqual(truth);
    else expect(lastLine({ code, stdout: "", stderr })).toContain("The night is over");
    changeSource(20, random);
  }
  expect(nights).toBeGreaterThan(3);
  expect(nights).toBeLessThan(20);
  expect(said).not.toContain(ANEW);
});

test("a backup gives up when its place in the feed is removed again and again", async () => {
  const { result } = await backUpDuring(() => {
    changeSource(5, randomNumbers(1));
    api.databases.query(SOURCE, "DELETE FROM events WHERE id < (SELECT max(id) FROM events)");
  });
  expect(result.code).toBe(1);
  expect(lastLine(result)).toMatch(/, 3 times\. Try again later\.$/);
  expect(existsSync(join(folder, "manifest.json"))).toBe(false);
});

test("a row that goes without an event is noticed", async () => {
  api.databases.use(SOURCE, (sqlite) => fill(sqlite));
  const { result } = await backUpDuring((query) => {
    if (query === 12) api.databases.query(SOURCE, "DELETE FROM pets WHERE id = 1");
  });
  expect(result.code).toBe(1);
  expect(lastLine(result)).toMatch(/^pets has (\d+) rows, and the copy \d+\. Did something but the present version/);
  await expectBackup();
  expect(contentsOfBackup(folder)).toEqual(contents(SOURCE));
});

test("keys that take the ids of removed ones between two pages are in the backup", async () => {
  const add = () =>
    api.databases.use(SOURCE, (sqlite) => {
      sqlite.exec("DELETE FROM idempotency_keys");
      for (let count = 0; count < 6; count++) addKey(sqlite, null, "x".repeat(120_000));
    });
  add();
  let pages = 0;
  api.databases.atQuery = (sql, run) => {
    if (sql.includes(`FROM "idempotency_keys" WHERE id >`) && pages++ === 1) add();
    return run();
  };
  await expectBackup();
  expect(pages).toBeGreaterThan(2);
  expect(contentsOfBackup(folder)).toEqual(contents(SOURCE));
});

test.each([
  ["a key", 1, 0],
  ["more keys than a page has", 6, 0],
  ["keys with the ids of removed ones", 2, 2],
])("a backup has %s that came between its last two transactions", async (_, count, kept) => {
  const add = (keys: number) =>
    api.databases.use(SOURCE, (sqlite) => {
      if (kept > 0) sqlite.exec("DELETE FROM idempotency_keys");
      for (; keys > 0; keys--) addKey(sqlite, null, "x".repeat(120_000));
    });
  add(kept);
  let ends = 0;
  await expectTruth((_query, sql) => {
    if (sql.includes("sqlite_sequence") && ends++ === 0) add(count);
  });
  expect(ends).toBeGreaterThan(0);
});
