import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, onTestFinished, vi } from "vitest";
import { readConfiguration } from "../../../ops/release/configuration.ts";
import type { Terminal } from "../../../ops/terminal.ts";
import { CloudflareApi } from "./api.ts";
import { Checkout, type Result } from "./checkout.ts";
import { Edge } from "./edge.ts";
import type { Worker } from "./workers.ts";

/** The fixture of a test file: a shared checkout, and a separate account for each test. */
export interface Fixture {
  checkout: Checkout;
  api: CloudflareApi;
  /** The address of petstore-staging. */
  edge: Edge;
}

export function useCloudflare(worker: string): Fixture {
  return useAccount(worker, { checkout: new Checkout() }) as Fixture;
}

/** For each test an account of its own with the address of a Worker, both for the commands that this process runs. */
export function useAccount(worker: string, fixture: Partial<Fixture> = {}): Omit<Fixture, "checkout"> {
  beforeEach(async () => {
    fixture.api = await openAccount();
    fixture.edge = await new Edge(fixture.api, worker).listen();
  });
  afterEach(async () => {
    await fixture.edge?.close();
    if (fixture.api) await closeAccount(fixture.api);
  });
  return fixture as Fixture;
}

export async function openAccount(): Promise<CloudflareApi> {
  const api = await new CloudflareApi().listen();
  for (const [name, value] of Object.entries(api.environment())) vi.stubEnv(name, value);
  return api;
}

export async function closeAccount(api: CloudflareApi): Promise<void> {
  vi.unstubAllEnvs();
  await api.close();
}

/** Commits the files of a checkout, until the test ends. */
export function commitUntilEnd(checkout: Checkout, message: string): void {
  const before = checkout.git("rev-parse", "HEAD");
  checkout.commit(message);
  onTestFinished(() => void checkout.git("reset", "--quiet", "--hard", before));
}

/** Has a checkout name no resources, as before the first release, until the test ends. */
export function forgetResources(checkout: Checkout): void {
  checkout.nameResources([]);
  commitUntilEnd(checkout, "No resources");
}

/**
 * Brings an account to where releases have brought it, without the time that they take.
 *
 * @param commit of all of them. Unknown unless given.
 */
export function addReleases(api: CloudflareApi, worker: string, count: number, commit?: string): Worker {
  const database = api.databases.add(worker, "auto");
  api.databases.query(
    worker,
    'CREATE TABLE "d1_migrations" (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, applied_at TIMESTAMP)',
  );
  for (const name of readdirSync("drizzle").filter((name) => name.endsWith(".sql"))) {
    api.databases.query(worker, readFileSync(join("drizzle", name), "utf8"));
    api.databases.query(worker, `INSERT INTO "d1_migrations" (name) VALUES ('${name}')`);
  }
  const namespace = api.namespaces.add(`${worker}-api-keys`);
  const bindings = [
    { name: "API_KEYS", type: "kv_namespace", namespace_id: namespace.id },
    { name: "DB", type: "d1", id: database.uuid },
    { name: "TOKEN_SECRET", type: "secret_text", text: "the first secret of these releases" },
    ...["RATE_LIMITER", "CUSTOMER_RATE_LIMITER", "TOKEN_RATE_LIMITER", "WEBHOOKS", "VERSION", "ASSETS"].map((name) => ({
      name,
      type: "other",
    })),
  ];
  return api.workers.add(worker, count, bindings, commit, readConfiguration("staging").migrations?.at(-1)?.tag);
}

export const RECORD = {
  id: "key_ABCDEFGHIJKL",
  name: "Shop front",
  scopes: ["pets:read"],
  createdAt: "2026-01-01T00:00:00.000Z",
};

/** Adds an API key to the namespace of a Worker, which has releases. Returns the entries of the namespace. */
export function addKey(api: CloudflareApi, worker: string) {
  const { entries } = api.namespaces.titled(`${worker}-api-keys`) ?? expect.unreachable();
  return entries.set("key:0", { value: JSON.stringify(RECORD), metadata: RECORD });
}

/** Makes versions of a Worker, all unless given, those of a time before it had Durable Objects. */
export function removeClasses(worker: Worker, versions = worker.versions): void {
  if (versions === worker.versions) worker.migrationTag = undefined;
  for (const version of versions) version.migrationTag = undefined;
}

/** Makes the second release of a Worker a gradual one: the first keeps most requests. Returns the ids of the two versions. */
export function makeSecondGradual({ versions, deployments }: Worker): [first: string, second: string] {
  const [first, second] = versions;
  const deployment = deployments[1];
  if (!first || !second || !deployment) throw new Error("There is no second release.");
  deployment.versions = [
    { version_id: second.id, percentage: 10 },
    { version_id: first.id, percentage: 90 },
  ];
  return [first.id, second.id];
}

/** Runs a command in this process, against the account that the environment names. @param more of its terminal, at which nobody is. */
export async function runHere(
  run: (args: readonly string[], terminal: Terminal) => Promise<number>,
  args: readonly string[],
  more: Partial<Terminal> = {},
): Promise<Result> {
  const result: Result = { code: 0, stdout: "", stderr: "" };
  result.code = await run(args, {
    print: (text) => void (result.stdout += `${text}\n`),
    say: (text) => void (result.stderr += `${text}\n`),
    read: async () => "",
    ...more,
  });
  return result;
}

/** Lets the two minutes of a lease pass that a command could not give back. */
export function endLeases(api: CloudflareApi): void {
  for (const { name } of api.databases.all.values()) {
    const [table] = api.databases.query(name, "SELECT name FROM sqlite_schema WHERE name = 'release_lease'");
    if (table !== undefined) api.databases.query(name, "UPDATE release_lease SET expires_at = 0");
  }
}

export function lastLine({ stderr }: Result): string {
  return stderr.trim().split("\n").at(-1) ?? "";
}

export async function succeed(running: Promise<Result>): Promise<Result> {
  const result = await running;
  expect(result, result.stderr).toMatchObject({ code: 0 });
  return result;
}

/** Waits for a command that has to fail without a result, and returns its last line. */
export async function failureOf(running: Promise<Result>): Promise<string> {
  const result = await running;
  expect(result).toMatchObject({ code: 1, stdout: "" });
  return lastLine(result);
}

export function commandsOf({ stderr }: Result): (string | undefined)[] {
  return [...stderr.matchAll(/^\$ npx wrangler (.+)$/gm)].map(([, command]) => command);
}
