import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gunzipSync, gzipSync } from "node:zlib";
import { parse } from "yaml";
import { Bucket } from "../../ops/backup/bucket.ts";
import { runBackup, runRestore } from "../../ops/backup/command-line.ts";
import { PART_PAGES, Parts } from "../../ops/backup/parts.ts";
import { MOST_BYTES, unzip, zip } from "../../ops/backup/zipped-json.ts";
import { connect } from "../../ops/release/cloudflare.ts";
import { change, CHANGES, contentsOf, contentsOfBackup, disabled, fill, randomNumbers } from "./backup-data.ts";
import type { CloudflareApi } from "./cloudflare/api.ts";
import { addReleases, closeAccount, lastLine, openAccount, runHere, useCheckout } from "./cloudflare/fixture.ts";
import { FastClock, Limit } from "./cloudflare/limit.ts";
import { Refusal } from "./cloudflare/route.ts";

// Backups and restores of an account whose API takes 1,200 requests in five minutes, by a fast clock.
// By hand: ROWS=3000000 npx vitest run --project commands test/commands/backup-pace.test.ts -t "two nights" --silent=false

const ROWS = Number(process.env["ROWS"] ?? 30_000);

const DATABASE = "petstore-production";
const BUCKET = `petstore-pace-${process.pid}`;

const DAY = 86_400_000;

let api: CloudflareApi;
let clock: FastClock;
let folder: string;
const shared = useCheckout();
beforeEach(async () => {
  api = await openAccount();
  addReleases(api, DATABASE, 1);
  clock = new FastClock();
  folder = mkdtempSync(join(tmpdir(), "petstore-backup-"));
});
afterEach(async () => {
  await closeAccount(api);
  rmSync(folder, { recursive: true });
  rmSync(join("backups", BUCKET), { recursive: true, force: true });
});

const backup = (to: string, ...more: string[]) =>
  runHere(
    (args, terminal) => runBackup(args, terminal, clock),
    ["--env", "production", "--to", join(folder, to), "--bucket", BUCKET, ...more],
  );
const restore = (...more: string[]) =>
  runHere(
    (args, terminal) => runRestore(args, terminal, clock),
    ["--env", "production", "--yes", "--bucket", BUCKET, "--from", nameOfBackup(), "--overwrite", DATABASE, ...more],
  );
const contents = () => api.databases.use(DATABASE, contentsOf);
const objects = () => [...api.buckets.objects.keys()].map((path) => path.slice(BUCKET.length + 1));

/** The name of the only finished backup in the bucket. */
function nameOfBackup(): string {
  const [name, ...others] = objects().flatMap((path) => /^(.*)\/manifest\.json$/.exec(path)?.[1] ?? []);
  expect(others).toEqual([]);
  return name ?? expect.unreachable("The bucket has no finished backup.");
}

test.each([
  ["with headers", true],
  ["without headers", false],
])("a backup and a restore go on after a block at any request, %s", async (_, hasHeaders) => {
  api.databases.use(DATABASE, (sqlite) => fill(sqlite));
  const truth = contents();
  const run = async (name: string, command: () => ReturnType<typeof backup>) => {
    const { length } = api.requests;
    for (let after = 0; after < Infinity; after += 9) {
      const limit = new Limit(clock, hasHeaders);
      // The room that the command leaves is used up by somebody else at one of its requests.
      const admit = limit.admit.bind(limit);
      let seen = 0;
      limit.admit = () => {
        if (seen++ === after) for (let left = limit.remaining; left > 0; left--) admit();
        return admit();
      };
      api.limit = limit;
      const begin = clock.now();
      const result = await command();
      expect(result, `${name}, request ${after}\n${result.stderr}`).toMatchObject({ code: 0 });
      if (limit.refused === 0) break;
      expect(limit.refused, "requests during the block").toBe(1);
      expect(clock.now() - begin).toBeGreaterThanOrEqual(300_000);
      expect(result.stderr).toMatch(/^Cloudflare's API asks for a wait\. This goes on by itself at \S+Z\.$/m);
    }
    return api.requests.length - length;
  };
  let count = 0;
  await run("backup", () => {
    api.buckets.objects.clear();
    return backup(String(count++));
  });
  for (const name of readdirSync(folder)) expect(contentsOfBackup(join(folder, name))).toEqual(truth);
  expect(count).toBeGreaterThan(3);
  await run("restore", () => {
    rmSync(join("backups", BUCKET), { recursive: true, force: true });
    return restore();
  });
  expect({ ...contents(), events: [] }).toEqual({ ...disabled(truth), events: [] });
});

test("a bucket under a law is used with its jurisdiction, and is not there without it", async () => {
  api.buckets.jurisdictions.set(BUCKET, "eu");
  const missing = await backup("first");
  expect(missing.code).toBe(1);
  expect(lastLine(missing)).toBe(`The account has no bucket ${BUCKET} without a jurisdiction.`);
  const wrong = await backup("first", "--jurisdiction", "us");
  expect(lastLine(wrong)).toBe(`The account has no bucket ${BUCKET} in the jurisdiction us.`);
  const made = await backup("first", "--jurisdiction", "eu");
  expect(made, made.stderr).toMatchObject({ code: 0 });
  expect(lastLine(await restore())).toBe(`The account has no bucket ${BUCKET} without a jurisdiction.`);
  const restored = await restore("--jurisdiction", "eu");
  expect(restored, restored.stderr).toMatchObject({ code: 0 });
  const alone = ["--env", "local", "--to", join(folder, "other"), "--jurisdiction", "eu"];
  expect(await runHere(runBackup, alone)).toMatchObject({ code: 1, stderr: "--jurisdiction is for --bucket.\n" });
});

// The workflow has a new machine every night.

/** The arguments of the command in the workflow, for a folder of this test and its bucket. */
function argumentsOfWorkflow(to: string): string[] {
  const { jobs } = parse(readFileSync(".github/workflows/backup.yml", "utf8")) as {
    jobs: { backup: { steps: { run?: string }[] } };
  };
  const command = jobs.backup.steps.map(({ run }) => run ?? "").find((run) => run.startsWith("npm run backup -- "));
  const args = command?.split(" ").slice(4) ?? expect.unreachable("The workflow makes no backup.");
  const after = (option: string) => args.indexOf(option) + 1;
  args[after("--to")] = join(folder, to);
  args[after("--bucket")] = BUCKET;
  return args;
}

const PAGES = 70;
/** Of rows with long names: a page has 500,000 bytes at most. */
const PAGE_ROWS = 480;
/** Animals on many pages, beside rows with everything that a column may hold. */
function fillPages(): void {
  api.databases.use(DATABASE, (sqlite) => {
    fill(sqlite);
    sqlite.exec(`INSERT INTO pets (id, name, category_id, status)
      WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ${PAGES * PAGE_ROWS})
      SELECT i, 'Rex' || i || '${"x".repeat(1_010)}', i, 'available' FROM n`);
  });
}

/** Runs the command of the workflow in a process that is killed at a query. */
async function stopAt(query: number): Promise<void> {
  const args = ["ops/run.ts", "backup", ...argumentsOfWorkflow("first")];
  const child = spawn(process.execPath, args, { cwd: shared.checkout.folder, stdio: "ignore" });
  let queries = 0;
  api.databases.atQuery = (_, run) => {
    if (queries++ === query) child.kill("SIGKILL");
    return run();
  };
  const [code, signal] = await once(child, "close");
  expect({ code, signal }).toEqual({ code: null, signal: "SIGKILL" });
  expect(objects().length).toBeGreaterThan(0);
  for (const name of objects()) expect(name).toMatch(/^unfinished\/petstore-production\/\d{6}-/);
  expect(api.databases.query(DATABASE, "SELECT name FROM sqlite_schema WHERE name = 'last_backup'")).toEqual([]);
}

let atHalf: { file: Buffer; objects: [path: string, bytes: ArrayBuffer][] } | undefined;

/** Leaves what a run of the workflow leaves that is stopped at half. The first test runs it, for all of them. */
async function stopAtHalf(): Promise<void> {
  const path = () => api.databases.use(DATABASE, (sqlite) => sqlite.location() ?? "");
  const copy = (objects: Iterable<[string, ArrayBuffer]>) =>
    [...objects].map(([name, bytes]): [string, ArrayBuffer] => [name, bytes.slice()]);
  if (atHalf === undefined) {
    fillPages();
    await stopAt(70);
    atHalf = { file: readFileSync(path()), objects: copy(api.buckets.objects) };
  }
  writeFileSync(path(), atHalf.file);
  for (const [name, bytes] of copy(atHalf.objects)) api.buckets.objects.set(name, bytes);
}

/** Runs the command of the workflow the next night. The backup is the truth of its last transaction, and nothing else is in the bucket. */
async function expectNextNight(atQuery: (query: number) => void = () => {}) {
  let truth: ReturnType<typeof contents> = {};
  let queries = 0;
  api.limit = new Limit(clock, false);
  api.databases.atQuery = (sql, run) => {
    atQuery(queries++);
    const result = run();
    if (sql.includes("sqlite_sequence")) truth = contents();
    return result;
  };
  const args = argumentsOfWorkflow("second");
  const result = await runHere((more, terminal) => runBackup(more, terminal, clock), args);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  const found = contentsOfBackup(join(folder, "second"));
  // Comparing texts is faster, and says less.
  if (JSON.stringify(found) !== JSON.stringify(truth)) expect(found).toEqual(truth);
  const name = nameOfBackup();
  expect(objects().filter((path) => !path.startsWith(`${name}/`))).toEqual([]);
  expect(api.databases.query(DATABASE, "SELECT moment FROM last_backup")).toEqual([{ moment: name.split("/")[1] }]);
  return { said: result.stderr, queries };
}

function changeSome(seed: number): void {
  const random = randomNumbers(seed);
  const kinds = Object.keys(CHANGES).filter((name) => !name.startsWith("removals of old events"));
  api.databases.use(DATABASE, (sqlite) => {
    for (let count = 0; count < 20; count++) change(sqlite, kinds[random(kinds.length)] ?? "", random);
  });
}

test("a run of the workflow that is stopped at half goes on the next night", async () => {
  await stopAtHalf();
  changeSome(1);
  const { said, queries } = await expectNextNight((query) => {
    if (query % 20 === 10) changeSome(query);
  });
  expect(said).toContain("Going on with the backup that was interrupted.");
  expect(queries).toBeLessThan(PAGES + 30 - PART_PAGES);
});

const ANEW = "or removed events that the backup needs. The backup starts anew.";

test.each<[name: string, spoil: () => void, message: string]>([
  [
    "whose place in the feed is gone",
    () => {
      changeSome(2);
      api.databases.query(DATABASE, "DELETE FROM events WHERE id < (SELECT max(id) FROM events)");
    },
    ANEW,
  ],
  [
    "with a damaged part",
    () => new Uint8Array(api.buckets.objects.get(pathsOfParts()[0] ?? "") ?? new ArrayBuffer()).fill(0, 100, 200),
    "is damaged. The backup starts anew.",
  ],
  [
    "that lacks its first part",
    () => {
      const [path = ""] = pathsOfParts();
      const part = api.buckets.objects.get(path) ?? expect.unreachable();
      api.buckets.objects.set(path.replace("000001", "000002"), part);
    },
    "is damaged. The backup starts anew.",
  ],
  [
    "with a part that is larger than any",
    () => {
      const [path = ""] = pathsOfParts();
      const part = gunzipSync(api.buckets.objects.get(path) ?? expect.unreachable());
      const large = gzipSync(Buffer.concat([part, Buffer.alloc(MOST_BYTES, " ")]), { level: 1 });
      api.buckets.objects.set(path, new Uint8Array(large).buffer);
    },
    "is damaged. The backup starts anew.",
  ],
])("an unfinished backup %s is removed, and the next one starts anew", async (_, spoil, message) => {
  await stopAtHalf();
  spoil();
  const { said, queries } = await expectNextNight();
  expect(said).toContain(message);
  expect(queries).toBeGreaterThan(PAGES);
});

test("a backup ends well when its parts are gone already, or the response to a removal is lost", async () => {
  await stopAtHalf();
  api.break("DELETE", "/objects/", new Refusal(404, 10_007, "The specified key does not exist."));
  const made = await backup("second");
  expect(made, made.stderr).toMatchObject({ code: 0 });
  expect(api.databases.query(DATABASE, "SELECT count(*) AS backups FROM last_backup")).toEqual([{ backups: 1 }]);
});

test("an unfinished backup with a page that nobody can read is removed", async () => {
  await stopAtHalf();
  const [path = ""] = pathsOfParts();
  const part = unzip(Buffer.from(api.buckets.objects.get(path) ?? expect.unreachable())) as { pages: object };
  const damaged = zip({ ...part, pages: { ...part.pages, "pets-1.json.gz": "AAAA" } });
  api.buckets.objects.set(path, new Uint8Array(damaged).buffer);
  const refused = await backup("second");
  expect(refused.code).toBe(1);
  expect(lastLine(refused)).toMatch(/\.json\.gz was damaged\. Run the backup again: it starts anew\.$/);
  expect(objects()).toEqual([]);
});

test("a bucket whose rule locks every object gets a finished backup every night", async () => {
  fillPages();
  api.break("DELETE", "/objects/", new Refusal(403, 10_069, "The object is locked"));
  for (const night of ["first", "second"]) {
    const made = await backup(night);
    expect(made, made.stderr).toMatchObject({ code: 0 });
    expect(made.stderr).toContain(`A lock of the bucket should leave out unfinished/${DATABASE}/: docs/backups.md.\n`);
    expect(contentsOfBackup(join(folder, night))).toEqual(contents());
  }
});

test("an unfinished backup whose rows went without an event is removed", async () => {
  await stopAtHalf();
  api.databases.query(DATABASE, "DELETE FROM pets WHERE id = 1000");
  const refused = await backup("second");
  expect(refused.code).toBe(1);
  expect(lastLine(refused)).toMatch(/^pets has \d+ rows, and the copy \d+\. .* Run the backup again\.$/);
  expect(objects()).toEqual([]);
});

const pathsOfParts = () => [...api.buckets.objects.keys()].toSorted();

test("parts bring every page to another machine, and no page that is void", async () => {
  const said: string[] = [];
  const terminal = { print: () => {}, say: (text: string) => void said.push(text), read: async () => "" };
  const bucket = new Bucket(await connect(terminal), BUCKET);
  const open = () => new Parts(bucket, DATABASE, terminal);
  const [here = "", there = "", third = ""] = ["here", "there", "third"].map((name) => join(folder, name));
  mkdirSync(here);
  const parts = open();
  const write = (name: string, contents: string) => {
    writeFileSync(join(here, `${name}.json.gz`), contents);
    parts.add(`${name}.json.gz`, contents.length);
  };
  const contentsIn = (path: string) =>
    Object.fromEntries(readdirSync(path).map((file) => [file, readFileSync(join(path, file), "utf8")]));
  write("start", "");
  for (let page = 1; page < PART_PAGES; page++) write(`keys-${page}`, `old ${page}`);
  await parts.send(here);
  expect(objects()).toHaveLength(1);
  // The copy begins the table again, and these are fewer.
  for (let page = 1; page < PART_PAGES; page++) rmSync(join(here, `keys-${page}.json.gz`));
  for (let page = 1; page <= 200; page++) write(`pets-${page}`, `pet ${page}`);
  write("keys-1", "new 1");
  write("keys-2", "x".repeat(2 ** 23));
  await parts.send(here);
  expect(objects()).toHaveLength(6);
  await open().fetch(there);
  expect(contentsIn(there)).toEqual(contentsIn(here));

  // A folder with pages of its own stays as it is. Its parts replace the others.
  for (let page = 151; page <= 200; page++) rmSync(join(there, `pets-${page}.json.gz`));
  const other = open();
  await other.fetch(there);
  await other.send(there);
  // The large page ends its part, however many pages wait.
  expect(objects()).toHaveLength(4);
  await open().fetch(third);
  expect(contentsIn(third)).toEqual(contentsIn(there));
  await other.remove();
  expect(objects()).toEqual([]);
  expect(said.join()).not.toContain("damaged");
});

test("parts of two runs at the same time do not mix", async () => {
  const said: string[] = [];
  const terminal = { print: () => {}, say: (text: string) => void said.push(text), read: async () => "" };
  const bucket = new Bucket(await connect(terminal), BUCKET);
  const [one = "", other = "", third = ""] = ["one", "other", "third"].map((name) => join(folder, name));
  const runs = [one, other].map((path) => ({ path, parts: new Parts(bucket, DATABASE, terminal) }));
  const sendPart = async ({ path, parts }: (typeof runs)[number], name: string) => {
    mkdirSync(path, { recursive: true });
    writeFileSync(join(path, `${name}.json.gz`), path);
    parts.add(`${name}.json.gz`, 2 ** 23);
    await parts.send(path);
  };
  for (const run of runs) await sendPart(run, "start");
  for (const run of runs) await sendPart(run, "pets-1");
  // The first part of one run, and the second one of the other.
  for (const path of pathsOfParts().slice(1, 3)) api.buckets.objects.delete(path);
  expect(objects()).toHaveLength(2);
  await new Parts(bucket, DATABASE, terminal).fetch(third);
  expect(said.at(-1)).toBe(
    `The unfinished backup in ${BUCKET}/unfinished/${DATABASE}/ is damaged. The backup starts anew.`,
  );
  expect(existsSync(third)).toBe(false);
});

/** The rows of two databases that the other does not have. */
function differences(name: string, other: string): unknown[] {
  const file = api.databases.use(other, (sqlite) => sqlite.location());
  return api.databases.use(name, (sqlite) => {
    sqlite.exec(`ATTACH '${file}' AS other`);
    return ["pets", "categories", "orders", "idempotency_keys"].flatMap((table) =>
      [
        ["main", "other"],
        ["other", "main"],
      ].flatMap(([one, two]) => {
        const ids = `SELECT CAST(id AS TEXT) AS id FROM (SELECT * FROM ${one}.${table} EXCEPT SELECT * FROM ${two}.${table})`;
        return sqlite
          .prepare(`${ids} LIMIT 3`)
          .all()
          .map((row) => ({ table, one, ...row }));
      }),
    );
  });
}

test("a large store is copied in two nights, and restored, within the limit", { timeout: 3_600_000 }, async () => {
  api.databases.use(DATABASE, (sqlite) => {
    fill(sqlite);
    sqlite.exec(`INSERT INTO pets (id, name, category_id, status)
      WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < ${999 + ROWS})
      SELECT i, printf('Rex%09d', i), i % 100, 'available' FROM n`);
  });
  const limit = new Limit(clock, false);
  api.limit = limit;
  // Another program of the same token.
  limit.use(1_190);
  const half = ROWS / 4_000;
  let bookmark = "";
  let queries = 0;
  api.databases.atQuery = (sql, run) => {
    if (queries++ % 50 === 10) changeSome(queries);
    if (queries === Math.round(half) + 12) throw new Refusal(400, 7500, "The night is over");
    const result = run();
    if (sql.includes("sqlite_sequence")) {
      bookmark = api.databases.snapshot(DATABASE);
      ended = performance.now();
    }
    return result;
  };
  let ended = NaN;
  const figures: unknown[] = [];
  const measure = async (what: string, command: () => ReturnType<typeof backup>, code: number) => {
    const [began, time, requests] = [performance.now(), clock.now(), api.requests.length];
    const result = await command();
    expect(result, result.stderr).toMatchObject({ code });
    figures.push({
      what,
      requests: api.requests.length - requests,
      minutes: (clock.now() - time) / 60_000,
      secondsOfThisMachine: (performance.now() - began) / 1_000,
      mebibytes: process.resourceUsage().maxRSS / 1_024,
    });
  };
  await measure("first night", () => backup("first"), 1);
  await clock.sleep(DAY);
  await measure("second night", () => backup("second"), 0);
  figures.push({ what: "files of the second night", secondsOfThisMachine: (performance.now() - ended) / 1_000 });
  api.databases.atQuery = (_, run) => run();
  api.databases.add("truth", "auto");
  api.databases.restore("truth", bookmark);
  await clock.sleep(DAY);
  await measure("restore", () => restore(), 0);
  expect(differences(DATABASE, "truth")).toEqual([]);
  expect(limit.refused).toBe(1);
  const bytes = [...api.buckets.objects.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
  const [count] = api.databases.query(
    DATABASE,
    "SELECT count(*) AS pets, (SELECT page_count * page_size FROM pragma_page_count, pragma_page_size) AS size FROM pets",
  );
  console.log({ ...count, bytes, figures });
});
