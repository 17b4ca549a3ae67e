import { expect, test } from "vitest";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { run as runKeys } from "../../ops/keys/command-line.ts";
import { run as runPreview } from "../../ops/preview/command-line.ts";
import { run as runRelease, runRollback } from "../../ops/release/command-line.ts";
import type { CloudflareApi } from "./cloudflare/api.ts";
import type { Result } from "./cloudflare/checkout.ts";
import { Edge } from "./cloudflare/edge.ts";
import {
  addKey,
  addReleases,
  closeAccount,
  endLeases,
  lastLine,
  makeSecondGradual,
  openAccount,
  RECORD,
  runHere,
  succeed,
  useCheckout,
} from "./cloudflare/fixture.ts";
import { type Effect, Page, Refusal } from "./cloudflare/route.ts";

// Every command against an API that misbehaves at one of its requests, once or from there on. Whatever happens, the command tells the
// truth, and its repetition does what is left. BAD_DAY=1000 goes through all of them; a normal run takes a sample.

/** Runs of each command at most. */
const RUNS = Number(process.env["BAD_DAY"] ?? 2);

const STAGING = "petstore-staging";
const PREVIEW = "petstore-preview-try-this";

const EFFECTS: { [name: string]: Effect } = {
  "500 once": new Refusal(500, 10_013, "Unknown error"),
  "429 once": new Refusal(429, 971, "Please wait", { "Retry-After": "0" }),
  "HTML 500 once": new Page(500),
  "HTML 404 once": new Page(404),
  "HTML 200 once": new Page(200),
  "cut once": "cut",
  "lost once": "lost",
  "late once": "late",
  "500 for good": new Refusal(500, 10_013, "Unknown error"),
  "HTML 404 for good": new Page(404),
  "403 for good": new Refusal(403, 10_000, "Authentication error"),
  "cut for good": "cut",
};

interface Command {
  prepare(api: CloudflareApi): unknown;
  run(edge: Edge, api: CloudflareApi): Promise<Result>;
  /** Whether the account is as the command promises. */
  isDone(api: CloudflareApi, result: Result): unknown;
}

const worker = (api: CloudflareApi, name = STAGING) => api.workers.all.get(name) ?? expect.unreachable();
const shares = (api: CloudflareApi) => api.workers.all.get(STAGING)?.deployments.at(-1)?.versions;
const isWhole = (api: CloudflareApi, version: number) =>
  shares(api)?.length === 1 && shares(api)?.[0]?.version_id === worker(api).versions.at(version)?.id;
const target = (edge: Edge) => ["--env", "staging", "--wait", "0", "--url", edge.url];
const records = (api: CloudflareApi) =>
  [...(api.namespaces.titled(`${STAGING}-api-keys`)?.entries.values() ?? [])].map(({ value }) => JSON.parse(value));
const prepareKey = (api: CloudflareApi) => {
  addReleases(api, STAGING, 1);
  addKey(api, STAGING);
};
const keys = (...args: string[]) => runHere(runKeys, [...args, "--env", "staging"]);

const shared = useCheckout();

const COMMANDS: { [name: string]: Command } = {
  rollback: {
    prepare: (api) => addReleases(api, STAGING, 3),
    run: (edge) => runHere(runRollback, target(edge)),
    isDone: (api) => isWhole(api, 1),
  },
  promote: {
    prepare: (api) => makeSecondGradual(addReleases(api, STAGING, 2)),
    run: (edge, api) =>
      runHere(runRelease, [...target(edge), "--promote", worker(api).versions[1]?.id ?? expect.unreachable()]),
    isDone: (api) => isWhole(api, 1),
  },
  "keys create": {
    prepare: prepareKey,
    run: () => keys("create", "--name", "New"),
    isDone: async (api, { stdout }) => {
      const name = await keyRecordName(/petstore_staging_\w+/.exec(stdout)?.[0] ?? "");
      return api.namespaces.titled(`${STAGING}-api-keys`)?.entries.has(name);
    },
  },
  "keys list": {
    prepare: prepareKey,
    run: () => keys("list"),
    isDone: (_, { stdout }) => stdout.includes(RECORD.id),
  },
  "keys show": {
    prepare: prepareKey,
    run: () => keys("show", RECORD.id),
    isDone: (_, { stdout }) => stdout.includes("Shop front"),
  },
  "keys revoke": {
    prepare: prepareKey,
    run: () => keys("revoke", RECORD.id),
    isDone: (api) => records(api)[0]?.revokedAt !== undefined,
  },
  "keys rotate": {
    prepare: prepareKey,
    run: () => keys("rotate", RECORD.id),
    isDone: (api) => records(api)[0]?.expiresAt !== undefined && records(api).length > 1,
  },
  "preview --sweep": {
    prepare(api) {
      // Deployed a moment ago by the clock of Cloudflare.
      api.workers.add(PREVIEW, 1, []);
      for (const version of worker(api, PREVIEW).versions)
        version.createdOn = new Date(Date.now() + (api.clock ?? 0)).toISOString();
      api.namespaces.add("petstore-preview-left-api-keys");
    },
    run: () => runHere(runPreview, ["--sweep"]),
    isDone: (api) => api.workers.all.size === 1 && api.namespaces.all.size === 0,
  },
  "preview --delete": {
    prepare: (api) => addReleases(api, PREVIEW, 1),
    run: () => runHere(runPreview, ["--name", "try-this", "--delete"]),
    isDone: (api) => api.workers.all.size + api.databases.all.size + api.namespaces.all.size === 0,
  },
  release: {
    prepare(api) {
      shared.checkout.nameResources();
      addReleases(api, STAGING, 1, shared.checkout.git("rev-parse", "HEAD"));
    },
    run: (edge) => shared.checkout.run("ops/run.ts", ["release", ...target(edge), "--skip-checks"]),
    isDone: (api) => worker(api).versions.length > 1 && isWhole(api, -1),
  },
  "first release": {
    prepare: () => shared.checkout.nameResources([]),
    run: (edge) => shared.checkout.run("ops/run.ts", ["release", ...target(edge), "--skip-checks", "--location=weur"]),
    isDone: (api) => api.databases.all.size === 1 && api.namespaces.all.size === 1 && isWhole(api, -1),
  },
  preview: {
    prepare: () => {},
    run: (edge) => shared.checkout.run("ops/run.ts", ["preview", "--name", "try-this", "--wait=0", "--url", edge.url]),
    isDone: (api) =>
      api.workers.all.get(PREVIEW)?.deployments.length &&
      api.databases.query(PREVIEW, "SELECT name FROM pets").length === 5,
  },
};

/** Gives a command an account of its own. */
async function withAccount<Value>(
  command: Command,
  edgeOf: string,
  use: (api: CloudflareApi, edge: Edge) => Promise<Value>,
  clock = 0,
): Promise<Value> {
  const api = await openAccount();
  api.clock = clock;
  const edge = await new Edge(api, edgeOf).listen();
  try {
    command.prepare(api);
    return await use(api, edge);
  } finally {
    await edge.close();
    await closeAccount(api);
  }
}

/** Runs a command once for each request and fault, or for a sample of them that is spread evenly. */
async function spoil(name: string, command: Command): Promise<void> {
  const edgeOf = name === "preview" ? PREVIEW : STAGING;
  const count = await withAccount(command, edgeOf, async (api, edge) => {
    const result = await succeed(command.run(edge, api));
    expect(await command.isDone(api, result)).toBeTruthy();
    return api.requests.length;
  });
  const all = Array.from({ length: count }, (_, request) =>
    Object.keys(EFFECTS).map((effect) => ({ request, effect })),
  );
  // Neighbours differ in both, so that a sample has every fault.
  const cases = all
    .flat()
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, RUNS);
  for (const { request, effect } of cases) {
    await withAccount(command, edgeOf, async (api, edge) => {
      const fault = EFFECTS[effect] ?? "cut";
      api.breakFrom(request, fault, effect.endsWith("for good") ? Infinity : 1);
      const result = await command.run(edge, api);
      const what = `${name}: ${effect} at request ${request}, exit ${result.code}\n${result.stderr}`;
      expectNoSecret(result, api, name, what);
      const isDone = await command.isDone(api, result);
      if (result.code === 0) expect(isDone, what).toBeTruthy();
      // A rotation shows the new key before the old one gets its end, and says so.
      else if (name !== "keys rotate") expect(result.stdout, what).toBe("");
      if (result.code !== 0) expect(lastLine(result), what).toMatch(/^[A-Z]\S* \S/);
      api.repair();
      endLeases(api);
      const again = await command.run(edge, api);
      expect(again.code, `${what}\nAgain:\n${again.stderr}`).toBe(0);
      expect(await command.isDone(api, again), `${what}\nAgain:\n${again.stderr}`).toBeTruthy();
    });
  }
  console.log(`${name}: ${cases.length} of ${count * Object.keys(EFFECTS).length} cases, each with a repetition`);
}

/** A number that is the same in every run, and says nothing about the neighbours. */
function rank({ request, effect }: { request: number; effect: string }): number {
  return ((request * 12 + Object.keys(EFFECTS).indexOf(effect)) * 7_919) % 1_009;
}

function expectNoSecret({ stdout, stderr }: Result, api: CloudflareApi, name: string, what: string): void {
  expect(stdout + stderr, what).not.toContain(api.environment()["CLOUDFLARE_API_TOKEN"]);
  // A new key is shown once, on standard output.
  const shown = /^(?:keys|preview)/.test(name) ? stderr : stdout + stderr;
  expect(shown, what).not.toMatch(/petstore_staging_\w{20}/);
}

test.each(Object.keys(COMMANDS))("%s tells the truth", { timeout: 7_200_000 }, async (name) => {
  await spoil(name, COMMANDS[name] ?? expect.unreachable());
});

const MINUTE = 60_000;
/** They write when a key ends, or delete what is old. */
const GO_BY_CLOCK = ["keys create", "keys rotate", "preview --sweep", "preview"];

test.each(GO_BY_CLOCK.flatMap((name) => [20 * MINUTE, -8 * 24 * 60 * MINUTE].map((clock) => ({ name, clock }))))(
  "$name changes nothing when the clock of Cloudflare is $clock ms ahead",
  async ({ name, clock }) => {
    const command = COMMANDS[name] ?? expect.unreachable();
    const check = async (api: CloudflareApi, edge: Edge) => {
      const result = await command.run(edge, api);
      expect(result).toMatchObject({ code: 1, stdout: "" });
      expect(lastLine(result)).toMatch(
        /^The clock of this machine says \S+Z, and that of Cloudflare \S+Z\. Correct the clock, and start again\.$/,
      );
      expect(api.requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
    };
    await withAccount(command, STAGING, check, clock);
  },
);
