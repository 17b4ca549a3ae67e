import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { Refusal } from "./cloudflare/route.ts";
import type { Result } from "./cloudflare/checkout.ts";
import { addReleases, commandsOf, lastLine, useCloudflare } from "./cloudflare/fixture.ts";

const MIGRATIONS = readdirSync("drizzle").filter((file) => file.endsWith(".sql")).length;

const WORKER = "petstore-staging";
const cloudflare = useCloudflare(WORKER);

/** Runs `npm run release` for staging, against the fake. */
function release(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Result> {
  const { checkout, api, edge } = cloudflare;
  const all = ["--env", "staging", "--skip-checks", "--wait", "0", "--url", edge.url, ...args];
  return checkout.run("scripts/release.ts", all, { ...api.environment(), ...env });
}

const versions = () => cloudflare.api.workers.all.get(WORKER)?.versions ?? [];
const shares = () => cloudflare.api.workers.all.get(WORKER)?.deployments.at(-1)?.versions;
const migrations = () => cloudflare.api.databases.query(WORKER, "SELECT name FROM d1_migrations").length;
const changes = () => cloudflare.api.requests.filter((request) => !request.startsWith("GET "));
const first = (request: RegExp) => cloudflare.api.requests.findIndex((made) => request.test(made));

test("the first release creates everything that is missing", async () => {
  const { api, checkout, edge } = cloudflare;
  const result = await release(["--location", "weur"]);
  expect(result, result.stderr).toMatchObject({ code: 0 });
  expect(api.databases.named(WORKER)).toMatchObject({
    primary_location_hint: "weur",
    read_replication: { mode: "auto" },
  });
  expect(migrations()).toBe(MIGRATIONS);
  expect(api.namespaces.titled("petstore-staging-api-keys")).toBeDefined();
  const [version] = versions();
  expect(shares()).toEqual([{ version_id: version?.id, percentage: 100 }]);
  expect(version?.annotations).toEqual({
    "workers/tag": "v1.0.0",
    "workers/message": checkout.git("rev-parse", "HEAD").slice(0, 12),
  });
  const bookmark = /Bookmark before the migrations: (\S+)/.exec(result.stderr)?.[1];
  expect(result.stdout).toBe(`
Released to staging
  Version         ${version?.id}
  Address         ${edge.url}
  Bookmark        ${bookmark}
  Roll back code  none: this is the first version
  Restore data    npx wrangler d1 time-travel restore petstore-staging --env staging --bookmark ${bookmark}
                  Read docs/releases.md first: a restore loses everything that was written since.
`);
  expect(first(/^GET .*\/bookmark$/)).toBeLessThan(first(/^POST .*\/query$/));
  expect(commandsOf(result)).toEqual([
    "d1 create petstore-staging --update-config=false --location=weur",
    "d1 time-travel info petstore-staging --env=staging --json",
    "d1 migrations list DB --env=staging --remote",
    "d1 migrations apply DB --env=staging --remote",
    expect.stringMatching(/^deploy --env=staging --tag=v1.0.0 --message=[0-9a-f]{12}$/),
  ]);
  expect(checkout.git("status", "--porcelain")).toBe("");
});

test("a later release changes only the code and prints no secret", async () => {
  const { api } = cloudflare;
  addReleases(api, WORKER, 1);
  const key = generateKey("staging");
  api.namespaces.titled("petstore-staging-api-keys")?.entries.set(await keyRecordName(key), { value: "{}" });
  const [before] = versions();

  const result = await release(["--location", "enam"], { PETSTORE_API_KEY: key });
  expect(result, result.stderr).toMatchObject({ code: 0 });
  expect(result.stderr).toContain("petstore-staging exists. It stays where it is.");
  expect(result.stderr).toContain("GET /v1/pets is 200 with a key.");
  expect(result.stdout).toContain(`Roll back code  npm run rollback -- --env staging --to ${before?.id}\n`);
  expect(changes().filter((request) => /^POST \/d1\/database$|^PUT \/d1|namespaces/.test(request))).toEqual([]);
  expect(migrations()).toBe(MIGRATIONS);
  expect(versions()).toHaveLength(2);
  for (const secret of [key, api.environment()["CLOUDFLARE_API_TOKEN"] ?? ""]) {
    expect(result.stderr + result.stdout).not.toContain(secret);
  }
});

test("a repeated release continues after a failure in any step", async () => {
  const { api, edge } = cloudflare;
  const place = ["--jurisdiction", "eu"];
  const steps = [
    { method: "POST", path: "/d1/database", after: () => expect(api.databases.all.size).toBe(0) },
    { method: "PUT", path: "/d1/database", after: () => expect(api.databases.all.size).toBe(1) },
    { method: "GET", path: "/time_travel", after: () => expect(api.requests.join(" ")).not.toContain("/query") },
    { method: "POST", path: "/query", after: () => expect(api.workers.all.size).toBe(0) },
    { method: "PUT", path: "/workers/scripts/petstore-staging", after: () => expect(migrations()).toBe(MIGRATIONS) },
  ];
  for (const { method, path, after } of steps) {
    api.break(method, path);
    const failed = await release(place);
    expect(failed, path).toMatchObject({ code: 1, stdout: "" });
    expect(lastLine(failed)).toContain("The fake was told to fail");
    api.repair();
    after();
  }
  edge.failure = 503;
  // This deployment finds the KV namespace that the failed one created, which wrangler alone would refuse with 10014.
  const ill = await release(place);
  expect(ill).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(ill)).toBe(`The smoke test of ${edge.url} failed: GET /health is 503.`);
  edge.failure = undefined;

  const well = await release(place);
  expect(well, well.stderr).toMatchObject({ code: 0 });
  expect(api.databases.named(WORKER)).toMatchObject({ jurisdiction: "eu", read_replication: { mode: "auto" } });
  expect([api.databases.all.size, api.namespaces.all.size, migrations()]).toEqual([1, 1, MIGRATIONS]);
});

test("a repeated release continues after an interruption", async () => {
  const { api, checkout, edge } = cloudflare;
  const interruption = new AbortController();
  const args = ["--env", "staging", "--skip-checks", "--url", edge.url, "--location", "weur"];
  const arrived = api.hold("PUT", "/workers/scripts/petstore-staging");
  const running = checkout.run("scripts/release.ts", args, api.environment(), { signal: interruption.signal });
  await Promise.race([arrived, running]);
  interruption.abort();
  expect(await running).toMatchObject({ code: 1, stdout: "" });
  api.repair();
  const repeated = await release(["--location", "weur"]);
  expect(repeated, repeated.stderr).toMatchObject({ code: 0 });
  expect([versions().length, api.databases.all.size, api.namespaces.all.size, migrations()]).toEqual([
    1,
    1,
    1,
    MIGRATIONS,
  ]);
});

test("a failed migration keeps the earlier ones and the old code", async () => {
  const { api, checkout } = cloudflare;
  writeFileSync(
    join(checkout.folder, "drizzle/9000_broken.sql"),
    "CREATE TABLE half (id INTEGER);\nINSERT INTO nowhere VALUES (1);",
  );
  checkout.commit("A migration that fails");
  try {
    const failed = await release(["--location", "auto"]);
    expect(failed.code).toBe(1);
    expect(failed.stderr).toContain("9000_broken.sql");
    expect(lastLine(failed)).toContain("no such table: nowhere");
    expect(migrations()).toBe(MIGRATIONS);
    expect(api.databases.query(WORKER, "SELECT * FROM sqlite_schema WHERE name = 'half'")).toEqual([]);
    expect(api.databases.named(WORKER)).not.toHaveProperty("primary_location_hint");
    expect(api.workers.all.size).toBe(0);
  } finally {
    checkout.git("reset", "--quiet", "--hard", "HEAD~1");
  }
});

test("a token without permission for KV releases nothing", async () => {
  cloudflare.api.databases.add(WORKER, "auto");
  cloudflare.api.break("GET", "/storage/kv", new Refusal(403, 10_000, "Authentication error"));
  const result = await release();
  expect(result).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(result)).toBe("Cloudflare refused GET /storage/kv/namespaces: Authentication error (code 10000)");
});

test("a service that lost its KV namespace does not pass the smoke test", async () => {
  const { api, edge } = cloudflare;
  addReleases(api, WORKER, 1);
  api.namespaces.all.clear();
  const result = await release();
  expect(result).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(result)).toBe(`The smoke test of ${edge.url} failed: GET /v1/pets without a key is 503, not 401.`);
});

describe("a gradual release", () => {
  test("tests the new version on its share and waits for the promotion", async () => {
    const { api, checkout, edge } = cloudflare;
    addReleases(api, WORKER, 1);
    const gradual = await release(["--gradual", "10"]);
    expect(gradual, gradual.stderr).toMatchObject({ code: 0 });
    const [old, new_] = versions();
    expect(shares()).toEqual([
      { version_id: new_?.id, percentage: 10 },
      { version_id: old?.id, percentage: 90 },
    ]);
    expect(gradual.stderr).toContain(`GET /health is version ${new_?.id}.`);
    expect(gradual.stdout).toContain(`Go on           npm run release -- --env staging --promote ${new_?.id}\n`);
    expect(gradual.stdout).toContain(`Go back         npm run rollback -- --env staging --to ${old?.id}\n`);

    const again = await release(["--gradual", "20"]);
    expect(lastLine(again)).toBe(
      "A gradual release of petstore-staging is under way. Promote a version or roll back first.",
    );

    const promote = ["--env", "staging", "--url", edge.url, "--wait", "0", "--promote"];
    const stranger = "00000000-0000-0000-0000-000000000000";
    const unknown = await checkout.run("scripts/release.ts", [...promote, stranger], api.environment());
    expect(lastLine(unknown)).toBe(`Version ${stranger} is not part of the present deployment of petstore-staging.`);
    const promoted = await checkout.run("scripts/release.ts", [...promote, new_?.id ?? ""], api.environment());
    expect(promoted, promoted.stderr).toMatchObject({ code: 0 });
    expect(shares()).toEqual([{ version_id: new_?.id, percentage: 100 }]);
  });

  test("cannot be the first release", async () => {
    const early = await release(["--gradual", "10"]);
    expect(early).toMatchObject({ code: 1, stdout: "" });
    expect(lastLine(early)).toBe(
      "petstore-staging has no version yet. The first release cannot be gradual: leave out --gradual.",
    );
    expect(changes()).toEqual([]);
  });
});
