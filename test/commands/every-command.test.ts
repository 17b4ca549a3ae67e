import { existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test, vi } from "vitest";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { runBackup, runRestore } from "../../ops/backup/command-line.ts";
import { run as runDoctor } from "../../ops/doctor/command-line.ts";
import { run as runKeys } from "../../ops/keys/command-line.ts";
import { run as runPreview } from "../../ops/preview/command-line.ts";
import { run as runRelease, runRollback } from "../../ops/release/command-line.ts";
import { run as runWebhooks } from "../../ops/webhooks/command-line.ts";
import { temporaryFolder } from "../built/folder.ts";
import type { CloudflareApi } from "./cloudflare/api.ts";
import { Checkout, type Result } from "./cloudflare/checkout.ts";
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
} from "./cloudflare/fixture.ts";
import { type Effect, Page, Refusal } from "./cloudflare/route.ts";
import { startService } from "./cloudflare/service.ts";
import { PERMISSIONS, usedPermissions } from "./documentation/permissions.ts";

// Every command of operators, with the permissions of a token that docs/operations.md lists, with one less, and against an API that
// misbehaves at one of its requests, once or from there on. Whatever happens, the command tells the truth, and its repetition does what is
// left. BAD_DAY=1000 goes through all requests and faults; a normal run takes a sample.
// documented-commands.test.ts tests the permissions of wrangler's own commands.

/** Runs of each command against faults, at most. The first release takes most steps. */
const runsOf = (name: string) => Number(process.env["BAD_DAY"] ?? (name.endsWith("the first") ? 6 : 2));

const STAGING = "petstore-staging";
const PREVIEW = "petstore-preview-try-this";
const PRODUCTION = "petstore-production";
const BUCKET = `petstore-commands-${process.pid}`;

const checkout = new Checkout();
beforeAll(startService);

/** An account with two releases of staging, the second of the commit of the checkout, and a key. */
async function openSite(clock = 0) {
  const api = Object.assign(await openAccount(), { clock });
  const edges = await Promise.all([STAGING, PREVIEW, PRODUCTION].map((name) => new Edge(api, name).listen()));
  const [staging, preview, production] = edges as [Edge, Edge, Edge];
  const folder = temporaryFolder(onTestFinished);
  checkout.nameResources();
  const worker = addReleases(api, STAGING, 2, checkout.git("rev-parse", "HEAD"));
  addKey(api, STAGING);
  const close = async () => {
    rmSync(join("backups", BUCKET), { recursive: true, force: true });
    await Promise.all(edges.map((edge) => edge.close()));
    await closeAccount(api);
  };
  return { api, staging, preview, production, folder, worker, [Symbol.asyncDispose]: close };
}
type Site = Awaited<ReturnType<typeof openSite>>;

interface Command {
  prepare?: (site: Site) => unknown;
  run: (site: Site) => Promise<Result>;
  /** Whether the account is as the command promises. */
  isDone?: (site: Site, result: Result) => unknown;
}

const isWhole = ({ worker: { deployments, versions } }: Site, version: number) => {
  const [first, ...others] = deployments.at(-1)?.versions ?? [];
  return others.length === 0 && first?.version_id === versions.at(version)?.id;
};
const records = ({ api }: Site) =>
  [...(api.namespaces.titled(`${STAGING}-api-keys`)?.entries.values() ?? [])].map(({ value }) => JSON.parse(value));
const spawn = (script: string, ...args: string[]) => checkout.run("ops/run.ts", [script, ...args]);
const target = ({ staging }: Site) => ["--env=staging", "--wait=0", "--url", staging.url];
const keys = (...args: string[]) => runHere(runKeys, [...args, "--env=staging"]);
const addPreview = ({ api }: Site) => addReleases(api, PREVIEW, 1);
const isSwept = ({ api }: Site) => [api.workers, api.databases, api.namespaces].every(({ all }) => all.size === 1);
const backUp = ({ folder }: Site, ...args: string[]) =>
  runHere(runBackup, ["--env=staging", "--to", join(folder, "backup"), ...args]);
const restore = (...args: string[]) => runHere(runRestore, ["--env=staging", `--overwrite=${STAGING}`, ...args]);

/** The real service responds about the webhooks of production. */
const inProduction = (run: typeof runDoctor, ...args: string[]): Command => ({
  prepare: ({ api }) => {
    addReleases(api, PRODUCTION, 1);
    const sql = "CREATE TABLE last_backup (moment TEXT); INSERT INTO last_backup VALUES (datetime('now') || 'Z')";
    api.databases.query(PRODUCTION, sql);
  },
  run: ({ production }) => runHere(run, [...args, "--env=production", "--yes", "--wait=5", "--url", production.url]),
});

const COMMANDS: { [command: string]: Command } = {
  "npm run keys -- list": {
    run: () => keys("list"),
    isDone: (_, { stdout }) => stdout.includes(RECORD.id),
  },
  "npm run keys -- show": {
    run: () => keys("show", RECORD.id),
    isDone: (_, { stdout }) => stdout.includes("Shop front"),
  },
  "npm run keys -- create": {
    run: () => keys("create", "--name=New"),
    isDone: async ({ api }, { stdout }) => {
      const name = await keyRecordName(/petstore_staging_\w+/.exec(stdout)?.[0] ?? "");
      return api.namespaces.titled(`${STAGING}-api-keys`)?.entries.has(name);
    },
  },
  "npm run keys -- revoke": {
    run: () => keys("revoke", RECORD.id),
    isDone: (site) => records(site)[0]?.revokedAt !== undefined,
  },
  "npm run keys -- rotate": {
    run: () => keys("rotate", RECORD.id),
    isDone: (site) => records(site)[0]?.expiresAt !== undefined && records(site).length > 1,
  },
  "npm run release": {
    run: (site) => spawn("release", "--skip-checks", ...target(site)),
    isDone: (site) => site.worker.versions.length > 2 && isWhole(site, -1),
  },
  "npm run release, the first": {
    prepare({ api }) {
      for (const { all } of [api.workers, api.databases, api.namespaces]) all.clear();
      checkout.nameResources([]);
    },
    run: (site) => spawn("release", "--skip-checks", "--location=weur", ...target(site)),
    isDone: (site) => {
      const worker = site.api.workers.all.get(STAGING);
      return isSwept(site) && worker && isWhole({ ...site, worker }, -1);
    },
  },
  "npm run release -- --promote": {
    prepare: ({ worker }) => makeSecondGradual(worker),
    run: (site) => runHere(runRelease, ["--promote", site.worker.versions[1]?.id ?? "", ...target(site)]),
    isDone: (site) => isWhole(site, 1),
  },
  "npm run rollback": {
    run: (site) => runHere(runRollback, target(site)),
    isDone: (site) => isWhole(site, 0),
  },
  "npm run preview": {
    run: ({ preview }) => spawn("preview", "--name=try-this", "--wait=0", "--url", preview.url),
    isDone: ({ api }) =>
      api.workers.all.get(PREVIEW)?.deployments.length &&
      api.databases.query(PREVIEW, "SELECT name FROM pets").length === 5,
  },
  "npm run preview -- --delete": {
    prepare: addPreview,
    run: () => runHere(runPreview, ["--name=try-this", "--delete"]),
    isDone: isSwept,
  },
  "npm run preview -- --sweep": {
    prepare: addPreview,
    run: () => runHere(runPreview, ["--sweep", "--older-than=0s"]),
    isDone: isSwept,
  },
  "npm run backup": {
    run: (site) => backUp(site),
    isDone: ({ folder }) => existsSync(join(folder, "backup/manifest.json")),
  },
  "npm run backup -- --bucket": { run: (site) => backUp(site, "--bucket", BUCKET) },
  "npm run restore": {
    prepare: (site) => backUp(site),
    run: ({ folder }) => restore("--from", join(folder, "backup")),
  },
  "npm run restore -- --bucket": {
    prepare: (site) => backUp(site, "--bucket", BUCKET),
    run: ({ api }) => {
      const [object = ""] = api.buckets.objects.keys();
      return restore("--bucket", BUCKET, "--from", object.split("/").slice(1, 3).join("/"));
    },
  },
  "npm run doctor": inProduction(runDoctor),
  "npm run webhooks -- list": inProduction(runWebhooks, "list"),
  "npm run webhooks -- stop": inProduction(runWebhooks, "stop", "--all"),
  "npm run webhooks -- resume": inProduction(runWebhooks, "resume"),
  "npm run webhooks -- why": inProduction(runWebhooks, "why", "pet/1"),
};
const ROWS = [...PERMISSIONS]
  .filter(([command]) => command.startsWith("npm "))
  .map(([command, permissions]) => ({ command, permissions }));

async function runWith(site: Site, name: string, rights: readonly string[]): Promise<Result> {
  const command = COMMANDS[name] ?? expect.unreachable();
  await command.prepare?.(site);
  site.api.rights = rights;
  return command.run(site);
}

test("every command of the list is tested", () => {
  expect(Object.keys(COMMANDS)).toEqual(expect.arrayContaining(ROWS.map(({ command }) => command)));
});

test.for(ROWS)("$command needs $permissions", async ({ command, permissions }) => {
  await using site = await openSite();
  const { code, stdout, stderr } = await runWith(site, command, permissions);
  expect(code, stdout + stderr).toBe(0);
  expect(usedPermissions(site.api)).toEqual(new Set(permissions));
});

const LESS = ROWS.flatMap(({ command, permissions }) =>
  permissions.map((lacking) => ({
    command,
    lacking,
    rights: permissions.flatMap((permission) => (permission === lacking ? lesserOf(permission) : [permission])),
  })),
);

/** Editing needs more than reading. */
function lesserOf(permission: string): string[] {
  return permission.endsWith(": Edit") ? [permission.replace(": Edit", ": Read")] : [];
}

test.for(LESS)("$command lacks $lacking, and says so", async ({ command, lacking, rights }) => {
  await using site = await openSite();
  const { code, stdout, stderr } = await runWith(site, command, rights);
  // A rollback goes on without lease and key. Without the key, it cannot tell whether it succeeded.
  const goesOn = command === "npm run rollback" && lacking.startsWith("D1");
  expect(code, stdout + stderr).toBe(goesOn ? 0 : 1);
  // Where wrangler sent the request, the message does not tell whether it reads or edits.
  expect(stdout + stderr).toContain(`lacks the permission "${lacking.split(":")[0]}`);
});

test("a login is not missing because Cloudflare does not answer", async () => {
  const env = {
    CLOUDFLARE_API_TOKEN: "token",
    CLOUDFLARE_ACCOUNT_ID: "",
    CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:1",
  };
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const result = await keys("list");
  vi.unstubAllEnvs();
  expect(result).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /^Wrangler reports: fetch failed\. Check the network, the proxy and the firewall of this machine.+\n$/,
    ),
  });
});

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
const NAMES = Object.keys(EFFECTS);

/** A number that is the same in every run. Neighbours differ, so that a sample has every fault. */
const rank = (request: number, effect: number) => ((request * NAMES.length + effect) * 7_919) % 1_009;

const TESTED = Object.entries(COMMANDS).filter(([, { isDone }]) => isDone !== undefined);

test.for(TESTED)("%s tells the truth", { timeout: 7_200_000 }, async ([name, { prepare, run, isDone }]) => {
  let count: number;
  {
    await using site = await openSite();
    await prepare?.(site);
    const before = site.api.requests.length;
    const result = await succeed(run(site));
    expect(await isDone?.(site, result)).toBeTruthy();
    count = site.api.requests.length - before;
  }
  const cases = Array.from({ length: count }, (_, request) =>
    NAMES.map((effect, index) => ({ request, effect, rank: rank(request, index) })),
  )
    .flat()
    .toSorted((a, b) => a.rank - b.rank);
  for (const { request, effect } of cases.slice(0, runsOf(name))) {
    await using site = await openSite();
    const { api } = site;
    await prepare?.(site);
    api.breakFrom(request, EFFECTS[effect] ?? "cut", effect.endsWith("for good") ? Infinity : 1);
    const result = await run(site);
    const what = `${name}: ${effect} at request ${request}, exit ${result.code}\n${result.stderr}`;
    expectNoSecret(result, api, name, what);
    const done = await isDone?.(site, result);
    if (result.code === 0) expect(done, what).toBeTruthy();
    // A rotation shows the new key before the old one gets its end, and says so.
    else if (!name.endsWith("rotate")) expect(result.stdout, what).toBe("");
    if (result.code !== 0) expect(lastLine(result), what).toMatch(/^[A-Z/]\S* \S/);
    api.repair();
    endLeases(api);
    const again = await run(site);
    const isRepeated = name === "npm run backup" && done;
    expect(again.code, `${what}\nAgain:\n${again.stderr}`).toBe(isRepeated ? 1 : 0);
    expect(await isDone?.(site, again), `${what}\nAgain:\n${again.stderr}`).toBeTruthy();
  }
  console.log(`${name}: ${runsOf(name)} of ${cases.length} cases, each with a repetition`);
});

function expectNoSecret({ stdout, stderr }: Result, api: CloudflareApi, name: string, what: string): void {
  expect(stdout + stderr, what).not.toContain(api.environment()["CLOUDFLARE_API_TOKEN"]);
  // A new key is shown once, on standard output.
  const shown = /keys|preview/.test(name) ? stderr : stdout + stderr;
  expect(shown, what).not.toMatch(/petstore_staging_\w{20}/);
}

const MINUTE = 60_000;
/** They write when a key ends, or delete what is old. */
const GO_BY_CLOCK = ["keys -- create", "keys -- rotate", "preview -- --sweep", "preview"].map((it) => `npm run ${it}`);

test.each(GO_BY_CLOCK.flatMap((name) => [20 * MINUTE, -8 * 24 * 60 * MINUTE].map((clock) => ({ name, clock }))))(
  "$name changes nothing when the clock of Cloudflare is $clock ms ahead",
  async ({ name, clock }) => {
    const { prepare, run } = COMMANDS[name] ?? expect.unreachable();
    await using site = await openSite(clock);
    await prepare?.(site);
    const result = await run(site);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(lastLine(result)).toMatch(
      /^The clock of this machine says \S+Z, and that of Cloudflare \S+Z\. Correct the clock, and start again\.$/,
    );
    expect(site.api.requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
  },
);
