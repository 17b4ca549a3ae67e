import { rmSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { runBackup, runRestore } from "../../ops/backup/command-line.ts";
import { temporaryFolder } from "../built/folder.ts";
import { change, CHANGES, contentsOf, disabled, fill, randomNumbers } from "./backup-data.ts";
import type { CloudflareApi } from "./cloudflare/api.ts";
import { addReleases, closeAccount, failureOf, lastLine, openAccount, runHere, succeed } from "./cloudflare/fixture.ts";
import { FastClock, Limit } from "./cloudflare/limit.ts";
import { Refusal } from "./cloudflare/route.ts";

// Backups and restores of an account whose API takes 1,200 requests in five minutes, by a fast clock.
// By hand: ROWS=3000000 npx vitest run --project commands test/commands/backup-pace.test.ts -t "two runs" --silent=false

const ROWS = Number(process.env["ROWS"] ?? 30_000);

const DATABASE = "petstore-production";
const BUCKET = `petstore-pace-${process.pid}`;

const DAY = 86_400_000;

let api: CloudflareApi;
let clock: FastClock;
let folder: string;
beforeEach(async () => {
  api = await openAccount();
  addReleases(api, DATABASE, 1);
  clock = new FastClock();
  folder = temporaryFolder(onTestFinished);
});
afterEach(async () => {
  await closeAccount(api);
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
const objects = () => [...api.buckets.objects.keys()].map((path) => path.slice(BUCKET.length + 1));

function nameOfBackup(): string {
  const [name, ...others] = objects().flatMap((path) => /^(.*)\/manifest\.json$/.exec(path)?.[1] ?? []);
  expect(others).toEqual([]);
  return name ?? expect.unreachable("The bucket has no finished backup.");
}

test("a bucket under a law is used with its jurisdiction, and is not there without it", async () => {
  api.buckets.jurisdictions.set(BUCKET, "eu");
  expect(await failureOf(backup("first"))).toBe(`The account has no bucket ${BUCKET} without a jurisdiction.`);
  const wrong = await backup("first", "--jurisdiction", "us");
  expect(lastLine(wrong)).toBe(`The account has no bucket ${BUCKET} in the jurisdiction us.`);
  await succeed(backup("first", "--jurisdiction", "eu"));
  expect(lastLine(await restore())).toBe(`The account has no bucket ${BUCKET} without a jurisdiction.`);
  await succeed(restore("--jurisdiction", "eu"));
  const alone = ["--env", "local", "--to", join(folder, "other"), "--jurisdiction", "eu"];
  expect(await runHere(runBackup, alone)).toMatchObject({ code: 1, stderr: "--jurisdiction is for --bucket.\n" });
});

function changeSome(seed: number): void {
  const random = randomNumbers(seed);
  const kinds = Object.keys(CHANGES).filter((name) => !name.startsWith("removals of old events"));
  api.databases.use(DATABASE, (sqlite) => {
    for (let count = 0; count < 20; count++) change(sqlite, kinds[random(kinds.length)] ?? "", random);
  });
}

test("a large store is copied in two runs, and restored, within the limit", { timeout: 3_600_000 }, async () => {
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
  let bookmark = "";
  let queries = 0;
  api.databases.atQuery = (sql, run) => {
    if (queries++ % 50 === 10) changeSome(queries);
    if (queries === Math.round(ROWS / 4_000) + 12) throw new Refusal(400, 7500, "The run is over");
    const result = run();
    if (sql.includes("sqlite_sequence")) bookmark = api.databases.snapshot(DATABASE);
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
  await clock.sleep(DAY);
  await measure("second run", () => backup("store"), 0);
  api.databases.atQuery = (_, run) => run();
  api.databases.add("truth", "auto");
  api.databases.restore("truth", bookmark);
  await clock.sleep(DAY);
  await measure("restore", () => restore(), 0);
  const rowsOf = (name: string) => ({ ...api.databases.use(name, contentsOf), events: [] });
  const restored = rowsOf(DATABASE);
  // Comparing texts is faster.
  for (const [table, rows] of Object.entries(disabled(rowsOf("truth"))))
    expect(JSON.stringify(restored[table as keyof typeof restored]) === JSON.stringify(rows), table).toBe(true);
  expect(limit.refused).toBe(1);
});
