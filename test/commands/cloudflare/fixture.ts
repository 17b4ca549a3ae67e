import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, vi } from "vitest";
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
  const fixture = {} as Fixture;
  beforeAll(() => {
    fixture.checkout = new Checkout();
  });
  afterAll(() => fixture.checkout.remove());
  beforeEach(async () => {
    fixture.api = await new CloudflareApi().listen();
    fixture.edge = await new Edge(fixture.api, worker).listen();
  });
  afterEach(async () => {
    await fixture.edge.close();
    await fixture.api.close();
  });
  return fixture;
}

/** An account for all tests of a file. wrangler finds it in the environment of this process. */
export function useSharedAccount(): { api: CloudflareApi } {
  const shared = {} as { api: CloudflareApi };
  beforeAll(async () => {
    shared.api = await new CloudflareApi().listen();
    for (const [name, value] of Object.entries(shared.api.environment())) vi.stubEnv(name, value);
  });
  afterAll(async () => {
    vi.unstubAllEnvs();
    await shared.api.close();
  });
  return shared;
}

/** Puts an account into the state after releases, without running them. */
export function addReleases(api: CloudflareApi, worker: string, count: number): Worker {
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
  return api.workers.add(worker, count, [
    { name: "API_KEYS", type: "kv_namespace", namespace_id: namespace.id },
    { name: "DB", type: "d1", id: database.uuid },
  ]);
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

export function lastLine({ stderr }: Result): string {
  return stderr.trim().split("\n").at(-1) ?? "";
}

/** The commands of wrangler that a command showed. */
export function commandsOf({ stderr }: Result): (string | undefined)[] {
  return [...stderr.matchAll(/^\$ npx wrangler (.+)$/gm)].map(([, command]) => command);
}
