import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { runBackup, runRestore } from "../../scripts/backup/command-line.ts";
import { contentsOf, contentsOfBackup, fill } from "./backup-data.ts";
import type { CloudflareApi } from "./cloudflare/api.ts";
import { addReleases, closeAccount, lastLine, openAccount, runHere } from "./cloudflare/fixture.ts";
import { FastClock, Limit } from "./cloudflare/limit.ts";

// Backups and restores of an account whose API takes 1,200 requests in five minutes, by a fast clock.

const DATABASE = "petstore-production";
const BUCKET = `petstore-pace-${process.pid}`;

let api: CloudflareApi;
let clock: FastClock;
let folder: string;
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
      expect(result.stderr).toMatch(
        /takes no more requests of this login or token\. This goes on by itself at \S+Z\.\n/,
      );
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
  expect({ ...contents(), events: [] }).toEqual({ ...truth, events: [] });
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
