import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync, gzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { runBackup, runRestore } from "../../ops/backup/command-line.ts";
import type { Clock } from "../../ops/clock.ts";
import { openDatabase } from "../../ops/backup/connection.ts";
import { connect } from "../../ops/release/cloudflare.ts";
import { migrate } from "../../ops/release/database.ts";
import { useLocalState } from "../../scripts/local-state.ts";
import { applyMigrations } from "../../scripts/migrations.ts";
import { temporaryFolder } from "../built/folder.ts";
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
import { Checkout } from "./cloudflare/checkout.ts";
import {
  addReleases,
  closeAccount,
  endLeases,
  failureOf,
  lastLine,
  openAccount,
  runHere,
  succeed,
} from "./cloudflare/fixture.ts";
import { FastClock, Limit } from "./cloudflare/limit.ts";
import { Refusal } from "./cloudflare/route.ts";

// Backups of the staging environment of a fake account, and their restores into its production.

const SOURCE = "petstore-staging";
const TARGET = "petstore-production";
const MARGIN = 1_000_000_000n;
/** Requests of which one meets a failure. BAD_DAY=1000 goes through all of them, as in every-command.test.ts. */
const STEP = process.env["BAD_DAY"] === undefined ? 4 : 1;
/** Is repeated at once. */
const FAILURE = new Refusal(500, 10_013, "Unknown error", { "Retry-After": "0" });

let api: CloudflareApi;
let scratch: string;
let folder: string;
const checkout = new Checkout();
beforeEach(async () => {
  api = await openAccount();
  addReleases(api, SOURCE, 1);
  addReleases(api, TARGET, 1);
  scratch = temporaryFolder(onTestFinished);
  folder = join(scratch, "backup");
});
afterEach(() => closeAccount(api));

const backup = (to = folder) => runHere(runBackup, ["--env", "staging", "--to", to]);
const ON_PRODUCTION = ["--env", "production", "--yes"];
const restore = (...more: string[]) =>
  runHere(runRestore, [...ON_PRODUCTION, "--from", folder, "--source", SOURCE, ...more]);
const contents = (name: string) => api.databases.use(name, contentsOf);
const counters = (name: string) => api.databases.use(name, countersOf);
const everythingInTarget = () => api.databases.use(TARGET, everythingIn);
const fillSource = (rows = {}) => api.databases.use(SOURCE, (sqlite) => fill(sqlite, rows));
const isFinished = () => existsSync(join(folder, "manifest.json"));
const manifest = () => JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));

async function expectBackup(): Promise<void> {
  const result = await backup();
  expect(result, result.stderr).toMatchObject({ code: 0, stdout: "" });
}

/** Backs up rows with everything that a column may hold. */
async function expectBackupOfData(): Promise<void> {
  fillSource();
  await expectBackup();
}

async function interruptRestore(isAt: (sql: string) => boolean): Promise<void> {
  api.databases.atQuery = (sql, run) => {
    if (isAt(sql)) throw FAILURE;
    return run();
  };
  expect(await restore()).toMatchObject({ code: 1 });
  api.databases.atQuery = (_, run) => run();
  endLeases(api);
}

const LAST_MIGRATIONS = globSync("drizzle/*.sql")
  .map((file) => basename(file))
  .filter((name) => name >= "0007")
  .toSorted();
const UNRECORD_THEM = `DELETE FROM d1_migrations WHERE name IN ('${LAST_MIGRATIONS.join("', '")}')`;
const RECORD_THEM = `INSERT INTO d1_migrations (name) VALUES ('${LAST_MIGRATIONS.join("'), ('")}')`;
const addLastMigrations = (name: string) => {
  for (const migration of LAST_MIGRATIONS) api.databases.query(name, readFileSync(`drizzle/${migration}`, "utf8"));
  api.databases.query(name, RECORD_THEM);
};

/** A backup of the release before the last migrations. The source then gets it. */
async function expectEarlierBackup(): Promise<void> {
  fillSource();
  for (const sql of [
    "DROP INDEX orders_reference_status_idx",
    "ALTER TABLE orders DROP COLUMN reference",
    "DROP INDEX orders_customer_status_idx",
    "ALTER TABLE orders DROP COLUMN customer",
    "DROP INDEX pets_unfilled_idx",
    "DROP INDEX pets_unfolded_idx",
    "DROP TABLE pets_words",
    "DROP TABLE search_index",
    "ALTER TABLE pets DROP COLUMN folded",
    "ALTER TABLE pets DROP COLUMN folded_of",
    "DROP TABLE inventory",
    "DROP TABLE webhooks",
    "DROP INDEX pets_external_id_idx",
    "ALTER TABLE pets DROP COLUMN external_id",
    "DROP TABLE live_hubs",
    UNRECORD_THEM,
  ])
    api.databases.query(SOURCE, sql);
  await expectBackup();
  addLastMigrations(SOURCE);
}

const expectPets = () => expect(contents(TARGET)["pets"]).toEqual(contents(SOURCE)["pets"]);

/** Replaces the target by a new database without tables. */
function renewTarget(): void {
  api.databases.all.delete(api.databases.find(TARGET).uuid);
  api.databases.add(TARGET, "auto");
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
  fillSource({ pets: 5_000, responses: 12 });
  api.databases.query(SOURCE, "UPDATE pets SET folded = ' ' || lower(name), folded_of = '1' || name");
  api.databases.query(SOURCE, "INSERT INTO pets_words (rowid, words) SELECT id, lower(name) FROM pets");
  api.databases.query(SOURCE, "UPDATE search_index SET rules = '2', filled_to = 5000, ready = 1");
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
  // `webhooks resume` would take its row for one of a restored webhook.
  api.databases.query(TARGET, "CREATE TABLE stopped_webhooks (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)");
  const result = await restore();
  expect(result, result.stderr).toMatchObject({ code: 0, stdout: "" });
  expect(api.databases.query(TARGET, "SELECT 1 FROM sqlite_schema WHERE name = 'stopped_webhooks'")).toEqual([]);
  expectRestored(source, before);
  // The hourly job writes them anew.
  const folded = "SELECT 1 FROM pets WHERE folded IS NOT NULL OR folded_of IS NOT NULL";
  expect(api.databases.query(TARGET, folded)).toEqual([]);
  expect(api.databases.query(TARGET, "SELECT id FROM pets_words_docsize")).toEqual([]);
  expect(api.databases.query(TARGET, "SELECT rules, ready FROM search_index")).toEqual([{ rules: "", ready: 0 }]);
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
  renewTarget();
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

const FILE = "pets-0001.ndjson.gz";
const sha256 = (text: string | Buffer) => createHash("sha256").update(text).digest("hex");

/** Writes other lines into a file of the backup. */
function editFile(edit: (lines: string[]) => string[]): Buffer {
  const path = join(folder, FILE);
  const text = Buffer.from(edit(gunzipSync(readFileSync(path)).toString().split("\n")).join("\n"));
  writeFileSync(path, gzipSync(text));
  return text;
}

/** Writes another first row, with the digest of these lines: as somebody who may write to the backup. */
function forge(edit: (first: string, second: string) => string[]): void {
  const text = editFile(([first = "", second = "", ...others]) => [...edit(first, second), ...others]);
  editManifest((value) => (value.tables.pets.sha256 = sha256(text)));
}

function editText(edit: (text: string) => string): void {
  const path = join(folder, "manifest.json");
  const text = readFileSync(path, "utf8");
  const edited = edit(text);
  expect(edited).not.toBe(text);
  writeFileSync(path, edited);
}

type AnyManifest = ReturnType<typeof manifest>;

/** Writes another manifest, with its digest. */
function editManifest(edit: (value: AnyManifest) => unknown): void {
  const { sha256: _, ...value } = manifest();
  edit(value);
  const text = `${JSON.stringify(value, null, 2)}\n`;
  writeFileSync(join(folder, "manifest.json"), text.replace("{\n", `{\n  "sha256": "${sha256(text)}",\n`));
}

const edited = (edit: (value: AnyManifest) => unknown) => () => editManifest(edit);
const forged = (edit: (first: string, second: string) => string[]) => () => forge(edit);
const queried = (sql: string) => () => api.databases.query(TARGET, sql);

const REFUSALS: { [name: string]: [spoil: () => unknown, message: RegExp, overwrite?: string] } = {
  "no manifest": [() => rmSync(join(folder, "manifest.json")), /has no manifest\.json/],
  "a manifest that was cut off": [() => truncateSync(join(folder, "manifest.json"), 200), /damaged: it is not JSON/],
  "a manifest that does not have its digest": [
    () => editText((text) => text.replace(/"orders": "\d+"/, '"orders": "1"')),
    /manifest\.json is damaged: it does not have the digest in its second line\.$/,
  ],
  "a manifest without its digest": [
    () => editText((text) => text.replace(/ {2}"sha256": "\w+",\n/, "")),
    /manifest\.json is damaged: it is not a manifest\.$/,
  ],
  "another format": [edited((value) => (value.format = 3)), /has format 3\. This program reads formats up to 2\.$/],
  "a path": [edited((value) => (value.tables.pets.files = [`../${FILE}`])), /damaged: it is not a manifest\.$/],
  SQL: [edited((value) => (value.counters["pets'; DROP TABLE pets; --"] = "1")), /manifest\.json is damaged/],
  "a counter below the ids of its table": [
    edited((value) => (value.counters.pets = "2305843009213693952")),
    /says that pets gave out no id above 2305843009213693952, and the backup has 2305843009213693953\.$/,
  ],
  "a place in the feed below its events": [
    edited((value) => (value.moment.event.id = "1")),
    /says that events gave out no id above 1, and the backup has \d+\.$/,
  ],
  "a counter that would rise above 2^62": [
    edited((value) => (value.counters.orders = String(2n ** 62n - MARGIN + 1n))),
    /^The backup has given out the id 4611686017427387905 in orders: a restore would leave too few\.$/,
  ],
  "a place in the feed that would leave no id": [
    edited((value) => (value.moment.event.id = String(2n ** 63n - 1n))),
    /^The backup has given out the id 9223372036854775807 in events/,
  ],
  "a table without its counter": [edited((value) => delete value.counters.orders), /not say which id orders gave out/],
  "a table too few": [edited((value) => delete value.tables.orders), /other columns in the table orders/],
  "another column": [edited((value) => value.tables.pets.columns.push("owner")), /other columns in the table pets/],
  "a migration that this code lacks": [
    edited((value) => value.migrations.push({ name: "9999_later.sql", sha256: "" })),
    /has the migration 9999_later\.sql\. This code does not have it/,
  ],
  "a migration with another text": [edited((value) => (value.migrations[0].sha256 = "")), /Its text differs here/],
  "a missing file": [() => rmSync(join(folder, FILE)), /pets-0001\.ndjson\.gz is missing\.$/],
  "a truncated file": [() => truncateSync(join(folder, FILE), 300), /gz is damaged: unexpected end of file/],
  "an exchanged line": [
    () => editFile(([first = "", ...others]) => [first.replace("Rex", "Max"), ...others]),
    /pets is damaged: its \d+ rows in .* are not the \d+ of the manifest/,
  ],
  "an added line": [
    () => editFile((lines) => [...lines.slice(0, -1), '{"id":0,"name":"Rex","category_id":1,"status":"sold"}', ""]),
    /pets-0001\.ndjson\.gz is damaged: it has more rows than the \d+ of the manifest$/,
  ],
  "a line without an end": [
    () => writeFileSync(join(folder, FILE), gzipSync(Buffer.alloc(2 ** 24, "x"))),
    /pets-0001\.ndjson\.gz is damaged: a line has more than 1999998 bytes$/,
  ],
  "lines in another order": [forged((first, second) => [second, first]), /^pets is damaged: its lines are not those/],
  "a second row in a line": [forged((first, second) => [`${first},${second}`]), /^pets is damaged: malformed JSON$/],
  "a status that does not exist": [
    forged((first, second) => [first.replace("available", "lost"), second]),
    /^pets is damaged: CHECK constraint failed: pets_status_check$/,
  ],
  "a text where a number stands": [
    forged((first, second) => [first.replace(/"version":1/, '"version":"x"'), second]),
    /^pets is damaged: the row 1 has no integer as its version\.$/,
  ],
  "a value that the table does not keep": [
    forged((first, second) => [first.replace("}", ',"owner":"x"}'), second]),
    /^pets is damaged: its lines are not those of its rows\.$/,
  ],
  "a target with data": [
    () => api.databases.use(TARGET, (sqlite) => fill(sqlite)),
    /^petstore-production has data in categories, .*, webhooks\. To replace .+, say --overwrite petstore-production\.$/,
  ],
  "a target with ids that leave too few": [
    queried(`INSERT INTO sqlite_sequence VALUES ('orders', ${2n ** 62n})`),
    /^petstore-production has given out the id 4611686018427387904 in orders: a restore would leave too few\.$/,
    TARGET,
  ],
  "the name of another database": [
    queried("INSERT INTO pets (name, category_id, status) VALUES ('New', 1, 'available')"),
    /^--overwrite names petstore-staging, and the database is petstore-production\.$/,
    SOURCE,
  ],
};

test.each(Object.keys(REFUSALS))("a restore refuses %s and changes nothing", async (name) => {
  const [spoil, message, overwrite] = REFUSALS[name] ?? expect.unreachable();
  await expectBackupOfData();
  spoil();
  const before = everythingInTarget();
  expect(await failureOf(restore(...(overwrite === undefined ? [] : ["--overwrite", overwrite])))).toMatch(message);
  expect(everythingInTarget()).toEqual(before);
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
  const time = "2999-01-01T00:00:00.000Z";
  api.databases.atQuery = (sql, run) =>
    sql.startsWith("SELECT strftime") ? [{ results: [{ time }], success: true, meta: {} }] : run();
  editManifest((value) => (value.moment.time = "2999-01-01T00:02:00.000Z"));
  expect(await failureOf(restore())).toMatch(
    /in the future: petstore-production has the time 2999-01-01T00:00:00\.000Z\.$/,
  );
  editManifest((value) => (value.moment.time = "2999-01-01T00:00:59.000Z"));
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
  const before = everythingInTarget();
  const from = [...ON_PRODUCTION, "--from", folder];
  const what = `This is a backup of ${SOURCE}, and the database is ${TARGET}.`;
  const answer = (text: string) => {
    const ask = async (question: string) => (question === `${what} Type ${SOURCE} to go on: ` ? text : "");
    return runHere(runRestore, from, { ask });
  };
  expect(await failureOf(runHere(runRestore, from))).toBe(
    `${what} To restore it all the same, say --source ${SOURCE}.`,
  );
  const wrong = runHere(runRestore, [...from, "--source", TARGET]);
  expect(await failureOf(wrong)).toBe(`--source names ${TARGET}, and the backup is of ${SOURCE}.`);
  expect(await failureOf(answer("yes"))).toBe("Nothing was changed.");
  const unconfirmed = runHere(runRestore, ["--env", "production", "--from", folder]);
  expect(await failureOf(unconfirmed)).toBe("This replaces the data of petstore-production. Say --yes.");
  expect(everythingInTarget()).toEqual(before);
  await succeed(answer(SOURCE));
});

const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);
const modesIn = (path: string) => [...new Set(readdirSync(path).map((file) => modeOf(join(path, file))))];

test("only the owner reads a backup, finished or not", async () => {
  api.breakFrom(10, FAILURE);
  expect(await backup()).toMatchObject({ code: 1 });
  api.repair();
  const work = join(folder, "unfinished");
  expect([folder, work].map(modeOf)).toEqual(["700", "700"]);
  expect(modesIn(work)).toEqual(["600"]);
  await expectBackup();
  expect(modesIn(folder)).toEqual(["600"]);
});

test("a restore from a bucket goes on after a failure, and says when the bucket has no such backup", async () => {
  const bucket = `petstore-test-${process.pid}`;
  const restoreOf = (moment: string) =>
    runHere(runRestore, [...ON_PRODUCTION, "--bucket", bucket, "--from", `${TARGET}/${moment}`]);
  onTestFinished(() => rmSync(join("backups", bucket), { recursive: true, force: true }));
  api.databases.use(TARGET, (sqlite) => fill(sqlite));
  const before = contents(TARGET);
  await succeed(runHere(runBackup, ["--env", "production", "--to", folder, "--bucket", bucket]));
  const { objects } = api.buckets;
  const { time } = manifest().moment;
  const path = `${bucket}/${TARGET}/${time}/${FILE}`;
  const pets = objects.get(path) ?? expect.unreachable();
  const uploads = api.requests.filter((request) => request.startsWith("PUT") && request.includes(`/${time}/`));
  expect(uploads.at(-1)).toMatch(/manifest\.json$/);
  objects.delete(path);
  for (const [moment, file] of [
    [time, FILE],
    [time, FILE],
    ["2026-01-01", "manifest.json"],
  ])
    expect(await failureOf(restoreOf(moment))).toMatch(`The bucket ${bucket} has no ${TARGET}/${moment}/${file}.`);
  objects.set(path, pets);
  renewTarget();
  await succeed(restoreOf(time));
  expect(contents(TARGET)["pets"]).toEqual(before["pets"]);
  const copy = join("backups", bucket, TARGET, time);
  expect([modeOf(copy), ...modesIn(copy)]).toEqual(["700", "600"]);
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
  const removed = ["manifest.json", FILE].map((file) => `${SOURCE}/${old(31)}/${file}`);
  const { objects } = api.buckets;
  for (const key of [...kept, ...removed]) objects.set(`petstore-backups/${key}`, new ArrayBuffer(1));
  const names = () => [...objects.keys()].map((key) => key.slice("petstore-backups/".length));
  const backUp = (to: string, ...more: string[]) =>
    runHere(runBackup, ["--env", "staging", "--to", join(scratch, to), "--bucket", "petstore-backups", ...more]);
  await succeed(backUp("all"));
  expect(names()).toEqual(expect.arrayContaining(removed));
  await succeed(backUp("some", "--keep", "30d"));
  expect(names()).toEqual(expect.arrayContaining(kept));
  expect(names().filter((name) => removed.includes(name))).toEqual([]);
  // The only finished backup may be an old one.
  const present = names();
  const put = vi.spyOn(objects, "set").mockReturnValue(objects);
  await succeed(backUp("lost", "--keep", "0s"));
  put.mockRestore();
  expect(names()).toEqual(present);
  // A bucket that keeps everything is no failure of the backup.
  api.break("DELETE", old(29).slice(0, 10));
  expect((await succeed(backUp("last", "--keep", "0s"))).stderr).toContain("an old one is left");
  api.repair();
  await succeed(backUp("one", "--keep", "0s"));
  expect(names().filter((name) => name.startsWith(`${SOURCE}/2`) && name.endsWith("/manifest.json"))).toHaveLength(1);
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

test("a second backup in the folder of one that runs is refused, and the first one is whole", async () => {
  fillSource();
  const seconds: Promise<string>[] = [];
  api.databases.atQuery = async (sql, run) => {
    const rows = run();
    if (sql.includes(`FROM "pets"`) && seconds.length === 0) await seconds[seconds.push(failureOf(backup())) - 1];
    return rows;
  };
  await expectBackup();
  expect(await seconds[0]).toBe(`Another backup uses ${folder}/unfinished. Let it end, or name another folder.`);
  expect(contentsOfBackup(folder)).toEqual(contents(SOURCE));
});

test("a backup removes the files that another attempt left", async () => {
  mkdirSync(folder);
  writeFileSync(join(folder, "pets-0002.ndjson.gz"), gzipSync("{}\n"));
  await expectBackup();
  expect(readdirSync(folder)).not.toContain("pets-0002.ndjson.gz");
});

/** Runs a command in a process of its own. @param limit of the files that it writes, in kilobytes. */
function start(args: string[], limit = "unlimited") {
  const script = `ulimit -f ${limit}; exec "$0" ops/run.ts "$@"`;
  const child = spawn("bash", ["-c", script, process.execPath, ...args], {
    cwd: checkout.folder,
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = Promise.all([text(child.stderr), once(child, "close")]).then(([said]) => said.trim());
  return { child, ended };
}
const copying = () => ["backup", "--env", "staging", "--to", folder];

test("a backup whose disk is full while it writes its files goes on when there is room", async () => {
  fillSource();
  api.databases.query(
    SOURCE,
    `INSERT INTO pets (name, category_id, status)
      SELECT hex(randomblob(500)), 1, 'sold' FROM json_each('[${"1,".repeat(1_999)}1]')`,
  );
  // Its copy is whole, and it cannot replace this one.
  mkdirSync(join(folder, "categories-0001.ndjson.gz"), { recursive: true });
  expect(await backup()).toMatchObject({ code: 1 });
  rmSync(join(folder, "categories-0001.ndjson.gz"), { recursive: true });
  const { child, ended } = start(copying(), "700");
  expect(await ended).toContain("EFBIG: file too large, write");
  expect(child.exitCode).toBe(1);
  expect(isFinished()).toBe(false);
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

test("a signal has a backup and a restore say how to go on", async () => {
  /** The last line of a command that gets a signal when a query of it has this text. */
  async function endAtQuery(signal: NodeJS.Signals, part: string, args: string[]): Promise<string | undefined> {
    const { child, ended } = start(args);
    api.databases.atQuery = (sql, run) => {
      if (!child.killed && sql.includes(part)) child.kill(signal);
      return run();
    };
    const said = await ended;
    api.databases.atQuery = (_, run) => run();
    expect(child.exitCode, said).toBe(1);
    return said.split("\n").at(-1);
  }
  fillSource();
  expect(await endAtQuery("SIGINT", `FROM "pets"`, copying())).toBe(
    `${folder} has no finished backup. Repeat the command: it goes on.`,
  );
  await expectBackup();
  const restoring = ["restore", ...ON_PRODUCTION, "--from", folder, "--source", SOURCE];
  const earlier = everythingInTarget();
  expect(await endAtQuery("SIGTERM", "SELECT strftime", restoring)).toBe("This command did not change the database.");
  expect(everythingInTarget()).toEqual(earlier);
  expect(await endAtQuery("SIGINT", `INSERT INTO "orders"`, restoring)).toBe(
    `${TARGET} has a part of the backup, and nothing of its earlier data. Do not let the service use it. Repeat the command: it goes on.`,
  );
  // It gave its lease back.
  await succeed(restore());
  expectPets();
});

test("a backup that is killed while others change the store is the truth of its moment", async () => {
  fillSource({ pets: 4_100, responses: 6 });
  const random = randomNumbers(5);
  let [last, truth]: [string, Contents] = ["", {}];
  api.databases.atQuery = (sql, run) => {
    changeSource(2, random);
    const result = run();
    last = sql;
    if (sql.includes("sqlite_sequence")) truth = contents(SOURCE);
    return result;
  };
  const isOver = () => isFinished() && !existsSync(join(folder, "unfinished"));
  // In the second page of animals, in the last transaction, and while it writes its files.
  for (const isAt of [
    () => /FROM "pets"\s+WHERE id > [1-9]/.test(last),
    () => last.includes("sqlite_sequence"),
    () => existsSync(join(folder, "categories-0001.ndjson.gz")),
  ]) {
    const { child, ended } = start(copying());
    await vi.waitUntil(isAt, { timeout: 60_000, interval: 1 });
    child.kill("SIGKILL");
    await ended;
    last = "";
    // On a busy machine, the last moment may pass.
    if (!isOver()) expect(child.signalCode).toBe("SIGKILL");
  }
  if (!isOver()) await expectBackup();
  expect(contentsOfBackup(folder)).toEqual(truth);
});

test("D1 in workerd takes and returns every value", async () => {
  const [from, to] = [join(scratch, "from"), join(scratch, "to")];
  const fileOf = (state: string) =>
    globSync(join(state, "v3/d1/miniflare-D1DatabaseObject/*[0-9a-f].sqlite"))[0] ?? expect.unreachable();
  const inFile = <Result>(state: string, use: (sqlite: DatabaseSync) => Result): Result => {
    using sqlite = new DatabaseSync(fileOf(state));
    return use(sqlite);
  };
  await useLocalState(from, "", ({ DB }) => applyMigrations(DB, "drizzle"));
  inFile(from, (sqlite) => fill(sqlite, { pets: 5_000, responses: 12 }));
  await succeed(runHere(runBackup, ["--env", "local", "--persist-to", from, "--to", folder]));
  await succeed(runHere(runRestore, ["--env", "local", "--persist-to", to, "--from", folder]));
  const source = inFile(from, contentsOf);
  expect(contentsOfBackup(folder)).toEqual(source);
  expect({ ...inFile(to, contentsOf), events: [] }).toEqual({ ...disabled(source), events: [] });
  // npm run dev writes in this moment.
  const terminal = { print: () => {}, say: () => {}, read: async () => "" };
  const database = await openDatabase("local", to, () => expect.unreachable(), terminal);
  onTestFinished(() => database.close());
  using other = new DatabaseSync(fileOf(to));
  other.exec("BEGIN IMMEDIATE");
  await Promise.all([database.run(["DELETE FROM events"]), sleep(300).then(() => other.exec("COMMIT"))]);
});

test("a command that is killed leaves no workerd of its local storage behind", async () => {
  const program = join(scratch, "open.mjs");
  writeFileSync(
    program,
    `import { openLocalBindings } from ${JSON.stringify(resolve("scripts/local-bindings.ts"))};
    await openLocalBindings(${JSON.stringify(scratch)});
    console.log("open");`,
  );
  const child = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "ignore"] });
  await once(child.stdout, "data");
  const [pid = "", ...others] = spawnSync("pgrep", ["-P", String(child.pid), "workerd"], {
    encoding: "utf8",
  }).stdout.split("\n");
  expect(others).toEqual([""]);
  /** Not whether its parent has noticed its end. */
  const isRunning = () => /^[^Z\s]/.test(spawnSync("ps", ["-o", "stat=", "-p", pid], { encoding: "utf8" }).stdout);
  onTestFinished(() => void (isRunning() && process.kill(Number(pid), "SIGKILL")));
  expect(isRunning()).toBe(true);
  child.kill("SIGKILL");
  await vi.waitUntil(() => !isRunning(), { timeout: 10_000 });
});

test("a backup that fails at any request goes on", async () => {
  fillSource();
  const source = contents(SOURCE);
  for (let request = 0; ; request += STEP) {
    folder = join(scratch, String(request));
    api.breakFrom(request, FAILURE);
    await backup();
    api.repair();
    const isLast = isFinished();
    if (!isLast) {
      expect((await restore()).code, `request ${request}`).toBe(1);
      await expectBackup();
    }
    expect(contentsOfBackup(folder), `request ${request}`).toEqual(source);
    if (isLast) return expect(request).toBeGreaterThan(10);
  }
});

/** Whether the last line of a restore that ended early says what the database has. */
function expectTrueState(line: string, earlier: unknown): void {
  const advice = "Do not let the service use it. Repeat the command: it goes on.";
  if (line.endsWith(`has a part of the backup, and nothing of its earlier data. ${advice}`))
    expect(api.databases.query(TARGET, "SELECT loaded FROM restore_progress")).toEqual([{ loaded: 0 }]);
  else if (line.endsWith(`has all rows of the backup, but perhaps not its counters and its feed. ${advice}`))
    expectPets();
  else if (line.endsWith(`has its earlier data, or the empty tables of the backup. ${advice}`))
    expect(contents(TARGET)["pets"]).toEqual([]);
  else {
    expect(line).not.toContain("Repeat");
    expect(everythingInTarget()).toEqual(earlier);
  }
}

test("a restore that fails at any request says what the database has, and goes on", async () => {
  fillSource();
  const [source, before] = [contents(SOURCE), counters(SOURCE)];
  await expectBackup();
  const [empty, earlier] = [api.databases.snapshot(TARGET), everythingInTarget()];
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
  fillSource({ pets: 4_100 });
  const [source, before] = [contents(SOURCE), counters(SOURCE)];
  await expectBackup();
  let loads = 0;
  await interruptRestore((sql) => sql.startsWith(`INSERT INTO "pets"`) && ++loads > 1);
  expect(api.databases.query(TARGET, "SELECT count(*) AS pets FROM pets")).toEqual([{ pets: 2_000 }]);
  await succeed(restore());
  expectRestored(source, before);
});

test("responses that are lost neither double nor lose anything", async () => {
  fillSource();
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
  renewTarget();
  await succeed(restore());
  expectRestored(contents(SOURCE), counters(SOURCE));
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
  expectPets();
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
  expectPets();
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
  expectPets();
});

test("a backup of an earlier release gets the later migrations, and their tables give out no id twice", async () => {
  await expectEarlierBackup();
  api.databases.use(TARGET, (sqlite) => fill(sqlite));
  const before = counters(TARGET);
  let migrations = 0;
  api.databases.atQuery = (sql, run) => {
    const result = run();
    if (sql.includes(`'${LAST_MIGRATIONS[0]}'`) && migrations++ === 0) throw FAILURE;
    return result;
  };
  await succeed(restore("--overwrite", TARGET));
  expect(migrations).toBe(1);
  expectRestored(contents(SOURCE), before);
});

test("a restore waits for a release, holds its lease, and stops when a rollback takes it", async () => {
  await expectBackupOfData();
  api.databases.query(
    TARGET,
    `CREATE TABLE release_lease (id INTEGER PRIMARY KEY CHECK (id = 1), token TEXT NOT NULL, holder TEXT NOT NULL,
      yields INTEGER NOT NULL, expires_at INTEGER NOT NULL);
    INSERT INTO release_lease VALUES (1, 'theirs', 'the release of v1', 1, unixepoch() + 60)`,
  );
  const before = everythingInTarget();
  let [looks, held] = [0, 0];
  api.databases.atQuery = (sql, run) => {
    const [lease] = api.databases.query(TARGET, "SELECT token, expires_at > unixepoch() AS held FROM release_lease");
    if (lease?.["token"] === "theirs") {
      expect(everythingInTarget()).toEqual(before);
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
  expectPets();
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

const ANEW =
  "petstore-staging was restored or migrated, or removed events that the backup needs. The backup starts anew.";

function changeSome(
  database: string,
  count: number,
  random: (limit: number) => number,
  names = Object.keys(CHANGES),
): void {
  api.databases.use(database, (sqlite) => {
    for (; count > 0; count--) change(sqlite, names[random(names.length)] ?? "", random);
  });
}
const changeSource = (count: number, random: (limit: number) => number) => changeSome(SOURCE, count, random);

test.each(["before", "after"])("Time Travel to a moment %s the first page starts the backup anew", async (moment) => {
  const empty = api.databases.snapshot(SOURCE);
  let anew = 0;
  for (let travel = 8; travel < 18; travel++) {
    const random = randomNumbers(travel);
    folder = join(scratch, String(travel));
    api.databases.restore(SOURCE, empty);
    fillSource({ pets: 20 });
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
    fillSource();
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
  fillSource({ pets: 9_000 });
  let said = "";
  let nights = 0;
  for (let newest = 0; nights < 20 && !isFinished(); nights++) {
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
  expect(isFinished()).toBe(false);
});

test("a row that goes without an event is noticed", async () => {
  fillSource();
  const { result } = await backUpDuring((query) => {
    if (query === 12) api.databases.query(SOURCE, "DELETE FROM pets WHERE id = 1");
  });
  expect(result.code).toBe(1);
  expect(lastLine(result)).toMatch(/^pets has (\d+) rows, and the copy \d+\. Did something but the present version/);
  await expectBackup();
  expect(contentsOfBackup(folder)).toEqual(contents(SOURCE));
});

test.each([
  ["a key", 1, 0],
  ["more keys than a page has", 6, 0],
  ["keys with the ids of removed ones", 2, 2],
  ["no key, because of a removal of all", 0, 2],
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

test("a backup has more changes than a page has that came between its last two transactions", async () => {
  fillSource();
  let ends = 0;
  await expectTruth((_query, sql) => {
    if (sql.includes("sqlite_sequence") && ends++ === 0)
      changeSome(SOURCE, 2_001, randomNumbers(1), ["changes of pets"]);
  });
});

const BUCKET = `petstore-backup-${process.pid}`;
/** Backs up and restores production by a bucket. A clock may be one that does not make the test wait. */
function inBucket(clock?: Clock) {
  onTestFinished(() => rmSync(join("backups", BUCKET), { recursive: true, force: true }));
  const run = (command: typeof runBackup, ...args: string[]) =>
    runHere((all, terminal) => command(all, terminal, clock), ["--env", "production", "--bucket", BUCKET, ...args]);
  const nameOfBackup = () =>
    /^[^/]+\/(.*)\/manifest\.json$/m.exec([...api.buckets.objects.keys()].join("\n"))?.[1] ?? "";
  return {
    backup: (to: string, ...more: string[]) => run(runBackup, "--to", join(scratch, to), ...more),
    restore: (...more: string[]) => run(runRestore, "--yes", "--from", nameOfBackup(), "--overwrite", TARGET, ...more),
  };
}

test("a bucket under a law is used with its jurisdiction, and is not there without it", async () => {
  const { backup, restore } = inBucket();
  api.buckets.jurisdictions.set(BUCKET, "eu");
  expect(await failureOf(backup("first"))).toBe(`The account has no bucket ${BUCKET} without a jurisdiction.`);
  const wrong = await backup("first", "--jurisdiction", "us");
  expect(lastLine(wrong)).toBe(`The account has no bucket ${BUCKET} in the jurisdiction us.`);
  await succeed(backup("first", "--jurisdiction", "eu"));
  expect(lastLine(await restore())).toBe(`The account has no bucket ${BUCKET} without a jurisdiction.`);
  await succeed(restore("--jurisdiction", "eu"));
  const alone = ["--env", "local", "--to", join(scratch, "other"), "--jurisdiction", "eu"];
  expect(await runHere(runBackup, alone)).toMatchObject({ code: 1, stderr: "--jurisdiction is for --bucket.\n" });
});

/** Rows of the next test. By hand: ROWS=3000000 npx vitest run --project commands test/commands/backup.test.ts -t "two runs" --silent=false */
const ROWS = Number(process.env["ROWS"] ?? 30_000);

test("a large store is copied in two runs, and restored, within the limit", { timeout: 3_600_000 }, async () => {
  const clock = new FastClock();
  const { backup, restore } = inBucket(clock);
  api.databases.use(TARGET, (sqlite) => {
    fill(sqlite);
    sqlite.exec(`INSERT INTO pets (id, name, category_id, status)
      WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ${999 + ROWS})
      SELECT i, printf('Rex%09d', i), i % 100, 'available' FROM n`);
  });
  const names = Object.keys(CHANGES).filter((name) => !name.startsWith("removals of old events"));
  const limit = new Limit(clock, false);
  api.limit = limit;
  // Another program of the same token.
  limit.use(1_190);
  let bookmark = "";
  let queries = 0;
  api.databases.atQuery = (sql, run) => {
    if (queries++ % 50 === 10) changeSome(TARGET, 20, randomNumbers(queries), names);
    if (queries === Math.round(ROWS / 4_000) + 12) throw new Refusal(400, 7500, "The run is over");
    const result = run();
    if (sql.includes("sqlite_sequence")) bookmark = api.databases.snapshot(TARGET);
    return result;
  };
  const measure = async (what: string, command: () => ReturnType<typeof backup>, code: number) => {
    const [began, time, requests] = [performance.now(), clock.now(), api.requests.length];
    const result = await command();
    expect(result, result.stderr).toMatchObject({ code });
    const minutes = (clock.now() - time) / 60_000;
    const secondsOfThisMachine = (performance.now() - began) / 1_000;
    console.log({ what, requests: api.requests.length - requests, minutes, secondsOfThisMachine });
  };
  await measure("first run", () => backup("store"), 1);
  await clock.sleep(86_400_000);
  await measure("second run", () => backup("store"), 0);
  api.databases.atQuery = (_, run) => run();
  api.databases.add("truth", "auto");
  api.databases.restore("truth", bookmark);
  await clock.sleep(86_400_000);
  await measure("restore", () => restore(), 0);
  const rowsOf = (name: string) => ({ ...api.databases.use(name, contentsOf), events: [] });
  const restored = rowsOf(TARGET);
  // Comparing texts is faster.
  for (const [table, rows] of Object.entries(disabled(rowsOf("truth"))))
    expect(JSON.stringify(restored[table as keyof typeof restored]) === JSON.stringify(rows), table).toBe(true);
  expect(limit.refused).toBe(1);
});
