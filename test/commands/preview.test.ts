import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { parseKeyRecord } from "../../src/auth/key-record.ts";
import type { Result } from "./cloudflare/checkout.ts";
import { addReleases, lastLine, succeed, useCloudflare } from "./cloudflare/fixture.ts";

const WORKER = "petstore-preview-try-this";
const cloudflare = useCloudflare(WORKER);
const DAY = 86_400_000;

function preview(args: readonly string[], env: Record<string, string> = {}): Promise<Result> {
  return cloudflare.checkout.run("ops/run.ts", ["preview", ...args], { env });
}

function create(args: readonly string[] = [], env: Record<string, string> = {}): Promise<Result> {
  return preview(["--name", "try-this", "--wait", "0", "--url", cloudflare.edge.url, ...args], env);
}

function names(): Record<string, string[]> {
  const { workers, databases, namespaces } = cloudflare.api;
  return {
    workers: [...workers.all.keys()].toSorted(),
    databases: [...databases.all.values()].map(({ name }) => name).toSorted(),
    namespaces: [...namespaces.all.values()].map(({ title }) => title).toSorted(),
  };
}

const STAGING = {
  workers: ["petstore-staging"],
  databases: ["petstore-staging"],
  namespaces: ["petstore-staging-api-keys"],
};

test("a preview is created, updated and deleted without touching staging", async () => {
  const { api, edge } = cloudflare;
  addReleases(api, "petstore-staging", 1);
  const created = await succeed(create([], { CLOUDFLARE_ENV: "staging" }));
  expect(names()["workers"]).toEqual([WORKER, "petstore-staging"]);
  const database = api.databases.named(WORKER);
  const namespace = api.namespaces.titled(`${WORKER}-api-keys`);
  const worker = api.workers.all.get(WORKER);
  const bindings = Object.fromEntries((worker?.versions[0]?.bindings ?? []).map((binding) => [binding.name, binding]));
  expect(bindings).toMatchObject({
    DB: { id: database?.uuid },
    API_KEYS: { namespace_id: namespace?.id },
    RATE_LIMITER: { namespace_id: "1003" },
    CUSTOMER_RATE_LIMITER: { namespace_id: "1013" },
    TOKEN_RATE_LIMITER: { namespace_id: "1023" },
    TOKEN_SECRET: { type: "secret_text", text: expect.stringMatching(/^\w{43}$/) },
    WEBHOOKS: { class_name: "WebhookEndpoint" },
    ENVIRONMENT: { text: "staging" },
  });
  expect(worker?.crons).toEqual([]);
  // Its versions have no addresses, which would stay public beside the newest version.
  expect(worker?.subdomain).toEqual({ enabled: true, previews_enabled: false });
  const key = /API key {2}(petstore_staging_\w+)/.exec(created.stdout)?.[1] ?? "";
  expect(created.stdout).toContain(`\nPreview try-this\n  Address  ${edge.url}\n`);
  expect(created.stderr).toContain("GET /v1/pets is 200 with a key.");
  expect(created.stderr).not.toContain(key);
  expect(api.databases.query(WORKER, "SELECT name FROM pets")).toHaveLength(5);
  expect(api.databases.query("petstore-staging", "SELECT name FROM pets")).toEqual([]);

  const updated = await succeed(create(["--json"], { GITHUB_ACTIONS: "true" }));
  const secrets = worker?.versions.map(
    ({ bindings }) => bindings.find(({ name }) => name === "TOKEN_SECRET")?.["text"],
  );
  expect(new Set(secrets).size).toBe(1);
  expect(created.stdout + created.stderr).not.toContain(secrets?.[0]);
  // The runner masks it from here on.
  expect(lastLine(updated)).toBe(`::add-mask::${JSON.parse(updated.stdout).key}`);
  expect(JSON.parse(updated.stdout)).toEqual({
    name: "try-this",
    address: edge.url,
    version: worker?.versions[1]?.id,
    key: expect.stringMatching(/^petstore_staging_\w+$/),
  });
  expect(updated.stdout).not.toContain(key);
  expect(api.databases.query(WORKER, "SELECT name FROM pets")).toHaveLength(5);
  const records = [...(namespace?.entries.values() ?? [])].map(({ value }) => parseKeyRecord(value));
  expect(records).toHaveLength(2);
  for (const record of records) {
    expect(Date.parse(record?.expiresAt ?? "") - Date.parse(record?.createdAt ?? "")).toBe(7 * DAY);
  }

  const deleted = await preview(["--name", "try-this", "--delete"]);
  expect(deleted, deleted.stderr).toMatchObject({ code: 0, stdout: "Preview try-this is deleted.\n" });
  expect(api.requests.filter((request) => request.startsWith("DELETE"))).toEqual([
    `DELETE /workers/scripts/${WORKER}`,
    `DELETE /storage/kv/namespaces/${namespace?.id}`,
    `DELETE /d1/database/${database?.uuid}`,
  ]);
  expect(names()).toEqual(STAGING);
  const again = await preview(["--name", "try-this", "--delete"]);
  expect(again, again.stderr).toMatchObject({ code: 0, stdout: "There is no preview try-this.\n" });
});

test("a sweep deletes old unused previews and the rest of deleted ones", async () => {
  const { api } = cloudflare;
  addReleases(api, "petstore-staging", 1);
  const old = new Date(Date.now() - 30 * DAY).toISOString();
  for (const version of addReleases(api, "petstore-preview-pr-2", 1).versions) version.createdOn = old;
  api.databases.add("petstore-preview-pr-1", "auto");
  for (const database of api.databases.all.values()) database.created_at = old;
  api.databases.add("petstore-preview-pr-3", "auto");
  // An old preview that was deployed again.
  api.databases.add("petstore-preview-pr-4", "auto").created_at = old;
  api.workers.add("petstore-preview-pr-4", 1, []);
  api.namespaces.add("petstore-preview-left-api-keys");
  api.namespaces.add("petstore-preview-somebody-elses");
  // Longer than the prefix of previews.
  api.namespaces.add("petstore-production-api-keys");

  const spared = await preview(["--sweep", "--keep", "pr-1,pr-9"]);
  expect(spared, spared.stderr).toMatchObject({ code: 0, stdout: "Swept: pr-2, left\n" });
  expect(names()).toEqual({
    workers: ["petstore-preview-pr-4", "petstore-staging"],
    databases: ["petstore-preview-pr-1", "petstore-preview-pr-3", "petstore-preview-pr-4", "petstore-staging"],
    namespaces: ["petstore-preview-somebody-elses", "petstore-production-api-keys", "petstore-staging-api-keys"],
  });
  const all = await preview(["--sweep", "--older-than", "0s", "--keep", ""]);
  expect(all, all.stderr).toMatchObject({ code: 0, stdout: "Swept: pr-4, pr-1, pr-3\n" });
  expect(names()).toEqual({
    ...STAGING,
    namespaces: ["petstore-preview-somebody-elses", "petstore-production-api-keys", "petstore-staging-api-keys"],
  });
  const none = await preview(["--sweep"]);
  expect(none, none.stderr).toMatchObject({ code: 0, stdout: "There is no preview to sweep.\n" });
});

test("a preview refuses whatever it would share with staging", async () => {
  addReleases(cloudflare.api, "petstore-staging", 1);
  const path = join(cloudflare.checkout.folder, "wrangler.toml");
  const before = readFileSync(path, "utf8");
  onTestFinished(() => writeFileSync(path, before));
  const table = (name: string, binding: string) => `\n[[env.staging.${name}]]\nbinding = "${binding}"\n`;
  const more = table("r2_buckets", "FILES") + table("d1_databases", "OTHER") + table("kv_namespaces", "CACHE");
  writeFileSync(path, before + more);
  expect(lastLine(await create())).toBe(
    "A preview would share r2_buckets, OTHER, CACHE with staging. Teach ops/preview/configuration.ts.",
  );
});

test.each([
  [[], "A preview has a name. Say --name, or --sweep."],
  [["--delete"], "A preview has a name. Say --name, or --sweep."],
  [
    ["--name", "Staging"],
    /argument 'Staging' is invalid\. A name has up to 46 of a-z, 0-9 and -, and no - at its ends\.$/,
  ],
  [["--name", "x-"], /argument 'x-' is invalid/],
  [["--name", "x".repeat(47)], /is invalid\. A name has up to 46/],
  [["--name", "../petstore-staging", "--delete"], /is invalid\. A name has/],
  [["--name", "--delete"], /argument '--delete' is invalid\. The value is missing\.$/],
  [["--sweep", "--name", "x"], "Option '--sweep' cannot be used with option '--name <name>'"],
  [["--sweep", "--older-than", "soon"], /is invalid\. A duration is a number and a unit: 90d, 12h, 30m or 45s\.$/],
])("%j is refused with one line", async (args, message) => {
  const result = await preview(args);
  expect(result).toMatchObject({ code: 1, stdout: "" });
  expect(result.stderr.trim().split("\n")).toHaveLength(1);
  if (typeof message === "string") expect(lastLine(result)).toBe(message);
  else expect(lastLine(result)).toMatch(message);
  expect(cloudflare.api.requests).toEqual([]);
});
