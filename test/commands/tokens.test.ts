import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, beforeEach, expect, test, vi } from "vitest";
import { runBackup, runRestore } from "../../ops/backup/command-line.ts";
import { run as runKeys } from "../../ops/keys/command-line.ts";
import { run as runDoctor } from "../../ops/doctor/command-line.ts";
import { run as runWebhooks } from "../../ops/webhooks/command-line.ts";
import { run as runPreview } from "../../ops/preview/command-line.ts";
import { run as runRelease, runRollback } from "../../ops/release/command-line.ts";
import type { Result } from "./cloudflare/checkout.ts";
import { Edge } from "./cloudflare/edge.ts";
import { addKey, addReleases, makeSecondGradual, RECORD, runHere, useCloudflare } from "./cloudflare/fixture.ts";
import { startService } from "./cloudflare/service.ts";
import type { Worker } from "./cloudflare/workers.ts";
import { PERMISSIONS, usedPermissions } from "./documentation/permissions.ts";

// The permissions of a token for the commands of this project: each command succeeds with those of the list, and uses all of them. With
// one less, it says which one it lacks. documented-commands.test.ts tests those of wrangler's own commands.

const STAGING = "petstore-staging";
const PREVIEW = "petstore-preview-try-this";
const PRODUCTION = "petstore-production";
const BUCKET = `petstore-tokens-${process.pid}`;

const cloudflare = useCloudflare(STAGING);
beforeAll(startService);
let worker: Worker;
/** The addresses of the preview and of production. */
let preview: Edge;
let production: Edge;
let folder: string;
beforeEach(async () => {
  const { api, checkout } = cloudflare;
  worker = addReleases(api, STAGING, 2, checkout.git("rev-parse", "HEAD"));
  addKey(api, STAGING);
  [preview, production] = (await Promise.all([PREVIEW, PRODUCTION].map((name) => new Edge(api, name).listen()))) as [
    Edge,
    Edge,
  ];
  folder = mkdtempSync(join(tmpdir(), "petstore-tokens-"));
  return async () => {
    for (const path of [folder, join("backups", BUCKET)]) rmSync(path, { recursive: true, force: true });
    await Promise.all([preview.close(), production.close()]);
  };
});

const spawn = (script: string, ...args: string[]) => cloudflare.checkout.run(script, args);
const target = () => ["--env=staging", "--wait=0", "--url", cloudflare.edge.url];
const keys = (...args: string[]) => runHere(runKeys, [...args, "--env=staging"]);
const changePreview = (...args: string[]) => runHere(runPreview, args);
const addPreview = () => addReleases(cloudflare.api, PREVIEW, 1);
const backUp = (...args: string[]) => runHere(runBackup, ["--env=staging", "--to", join(folder, "backup"), ...args]);
const restore = (...args: string[]) => runHere(runRestore, ["--env=staging", `--overwrite=${STAGING}`, ...args]);

/** The real service responds about the webhooks of production. */
const inProduction = (run: typeof runDoctor, ...args: string[]): Command => ({
  prepare: () => {
    addReleases(cloudflare.api, PRODUCTION, 1);
    const sql = "CREATE TABLE last_backup (moment TEXT); INSERT INTO last_backup VALUES (datetime('now') || 'Z')";
    cloudflare.api.databases.query(PRODUCTION, sql);
  },
  run: () => runHere(run, [...args, "--env=production", "--yes", "--wait=5", "--url", production.url]),
});

interface Command {
  prepare?(): unknown;
  run(): Promise<Result>;
}

/** How each command of the list is run, in an account with two releases and a key. */
const COMMANDS: { [command: string]: Command } = {
  "npm run keys -- list": { run: () => keys("list") },
  "npm run keys -- show": { run: () => keys("show", RECORD.id) },
  "npm run keys -- create": { run: () => keys("create", "--name=x") },
  "npm run keys -- revoke": { run: () => keys("revoke", RECORD.id) },
  "npm run keys -- rotate": { run: () => keys("rotate", RECORD.id) },
  "npm run release": { run: () => spawn("ops/run.ts", "release", "--skip-checks", ...target()) },
  "npm run release -- --promote": {
    prepare: () => makeSecondGradual(worker),
    run: () => runHere(runRelease, ["--promote", worker.versions[1]?.id ?? "", ...target()]),
  },
  "npm run rollback": { run: () => runHere(runRollback, target()) },
  "npm run preview": { run: () => spawn("ops/run.ts", "preview", "--name=try-this", "--wait=0", "--url", preview.url) },
  "npm run preview -- --delete": { prepare: addPreview, run: () => changePreview("--name=try-this", "--delete") },
  "npm run preview -- --sweep": { prepare: addPreview, run: () => changePreview("--sweep", "--older-than=0s") },
  "npm run backup": { run: () => backUp() },
  "npm run backup -- --bucket": { run: () => backUp("--bucket", BUCKET) },
  "npm run restore": { prepare: () => backUp(), run: () => restore("--from", join(folder, "backup")) },
  "npm run restore -- --bucket": {
    prepare: () => backUp("--bucket", BUCKET),
    run: () => {
      const [object = ""] = cloudflare.api.buckets.objects.keys();
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

async function runWith(name: string, rights: readonly string[]): Promise<Result> {
  const command = COMMANDS[name] ?? expect.unreachable();
  await command.prepare?.();
  cloudflare.api.rights = rights;
  return command.run();
}

test("every command of the list is tested", () => {
  expect(ROWS.map(({ command }) => command).toSorted()).toEqual(Object.keys(COMMANDS).toSorted());
});

test.for(ROWS)("$command needs $permissions", async ({ command, permissions }) => {
  const { code, stdout, stderr } = await runWith(command, permissions);
  expect(code, stdout + stderr).toBe(0);
  expect(usedPermissions(cloudflare.api)).toEqual(new Set(permissions));
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
  const { code, stdout, stderr } = await runWith(command, rights);
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
  expect(await keys("list")).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(
      /^Wrangler reports: fetch failed\. Check the network, the proxy and the firewall of this machine.+\n$/,
    ),
  });
});
