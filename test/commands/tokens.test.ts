import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PAGES } from "../../scripts/docs/pages.ts";
import { CloudflareApi } from "./cloudflare/api.ts";
import { Checkout, type Result } from "./cloudflare/checkout.ts";
import { Edge } from "./cloudflare/edge.ts";
import { addReleases, makeSecondGradual } from "./cloudflare/fixture.ts";
import type { Worker } from "./cloudflare/workers.ts";

// The table of the permissions of a token in docs/operations.md: each command succeeds with these, and uses all of them. With one less, a
// command of this project says which one it lacks.

const STAGING = "petstore-staging";
const PREVIEW = "petstore-preview-try-this";
const ID = "key_ABCDEFGHIJKL";
const RECORD = { id: ID, name: "Shop front", scopes: ["pets:read"], createdAt: "2026-01-01T00:00:00.000Z" };
const BUCKET = "--bucket=petstore-backups";
const WRANGLER = "node_modules/wrangler/bin/wrangler.js";

let checkout: Checkout;
beforeAll(() => {
  checkout = new Checkout();
});
afterAll(() => checkout.remove());

interface Account {
  api: CloudflareApi;
  worker: Worker;
  /** The addresses of staging and of the preview. */
  edge: Edge;
  preview: Edge;
  /** For a backup. It does not exist yet. */
  folder: string;
  /** Runs a script of the repository, or wrangler, with this account. */
  run: (script: string, ...args: string[]) => Promise<Result>;
}

interface Used {
  usedRights: ReadonlySet<string | undefined>;
}

interface Command {
  prepare?(account: Account): unknown;
  run(account: Account): Promise<Result>;
}

const wrangler = (...args: string[]): Command => ({ run: ({ run }) => run(WRANGLER, ...args) });
const keys = (...args: string[]): Command => ({ run: ({ run }) => run("scripts/keys.ts", ...args, "--env=staging") });
const target = ({ edge }: Account) => ["--env=staging", "--wait=0", "--url", edge.url];
const backUp = ({ run, folder }: Account, ...args: string[]) =>
  run("scripts/backup.ts", "--env=staging", "--to", folder, ...args);
const restore = ({ run }: Account, ...args: string[]) =>
  run("scripts/restore.ts", "--env=staging", `--overwrite=${STAGING}`, ...args);
const addPreview = ({ api }: Account) => addReleases(api, PREVIEW, 1);

/** How each command of the table is run, in an account with two releases and a key. */
const COMMANDS: { [command: string]: Command } = {
  "npm run keys -- list": keys("list"),
  "npm run keys -- show": keys("show", ID),
  "npm run keys -- create": keys("create", "--name=x"),
  "npm run keys -- revoke": keys("revoke", ID),
  "npm run keys -- rotate": keys("rotate", ID),
  "npm run release": {
    run: (account) => account.run("scripts/release.ts", "--skip-checks", ...target(account)),
  },
  "npm run release -- --promote": {
    prepare: ({ worker }) => makeSecondGradual(worker),
    run: (account) =>
      account.run("scripts/release.ts", "--promote", account.worker.versions[1]?.id ?? "", ...target(account)),
  },
  "npm run rollback": { run: (account) => account.run("scripts/rollback.ts", ...target(account)) },
  "npm run preview": {
    run: ({ run, preview }) => run("scripts/preview.ts", "--name=try-this", "--wait=0", "--url", preview.url),
  },
  "npm run preview -- --delete": {
    prepare: addPreview,
    run: ({ run }) => run("scripts/preview.ts", "--name=try-this", "--delete"),
  },
  "npm run preview -- --sweep": {
    prepare: addPreview,
    run: ({ run }) => run("scripts/preview.ts", "--sweep", "--older-than=0s"),
  },
  "npm run backup": { run: (account) => backUp(account) },
  "npm run backup -- --bucket": { run: (account) => backUp(account, BUCKET) },
  "npm run restore": {
    prepare: (account) => backUp(account),
    run: (account) => restore(account, "--from", account.folder),
  },
  "npm run restore -- --bucket": {
    prepare: (account) => backUp(account, BUCKET),
    run: (account) => {
      const [object = ""] = account.api.buckets.objects.keys();
      return restore(account, BUCKET, "--from", object.split("/").slice(1, 3).join("/"));
    },
  },
  "npx wrangler deployments list": wrangler("deployments", "list", "--env=staging"),
  "npx wrangler deployments status": wrangler("deployments", "status", "--env=staging"),
  "npx wrangler versions list": wrangler("versions", "list", "--env=staging"),
  "npx wrangler versions view": {
    run: ({ run, worker }) => run(WRANGLER, "versions", "view", worker.versions[0]?.id ?? "", "--env=staging"),
  },
  "npx wrangler tail": wrangler("tail", "--env=staging", "--format=json"),
  "npx wrangler d1 execute": wrangler("d1", "execute", STAGING, "--env=staging", "--remote", "--command=SELECT 1"),
  "npx wrangler d1 create": wrangler("d1", "create", "petstore-new"),
  "npx wrangler d1 list": wrangler("d1", "list"),
  "npx wrangler d1 migrations list": wrangler("d1", "migrations", "list", STAGING, "--env=staging", "--remote"),
  "npx wrangler d1 time-travel info": wrangler("d1", "time-travel", "info", STAGING, "--env=staging"),
  "npx wrangler d1 time-travel restore": {
    run: ({ run, api }) =>
      run(
        WRANGLER,
        "d1",
        "time-travel",
        "restore",
        STAGING,
        "--env=staging",
        "--bookmark",
        api.databases.lastBookmark(STAGING),
      ),
  },
  "npx wrangler d1 info": wrangler("d1", "info", STAGING, "--env=staging"),
  "npx wrangler d1 insights": wrangler("d1", "insights", STAGING, "--env=staging"),
  "npx wrangler kv namespace list": wrangler("kv", "namespace", "list"),
  "npx wrangler r2 bucket create": wrangler("r2", "bucket", "create", "petstore-backups"),
  "npx wrangler r2 bucket lifecycle add": wrangler(
    ..."r2 bucket lifecycle add petstore-backups expire --expire-days=30 --force".split(" "),
  ),
};

/** The permissions of each command, as the page says. */
const TABLE = new Map(
  [...readFileSync("docs/operations.md", "utf8").matchAll(/^\| `(np[mx] [^`]+)` +\| ([^|]+?) +\|$/gm)].map(
    ([, command = "", permissions = ""]) => [command, permissions.split(", ")],
  ),
);
const ROWS = [...TABLE].map(([command, permissions]) => ({ command, permissions }));

/** @param spoil changes the account right before the command. */
async function runWith(name: string, spoil: (api: CloudflareApi) => void): Promise<Result & Used> {
  const api = await new CloudflareApi().listen();
  const edges = await Promise.all([STAGING, PREVIEW].map((worker) => new Edge(api, worker).listen()));
  const folder = mkdtempSync(join(tmpdir(), "petstore-tokens-"));
  try {
    const [edge = expect.unreachable(), preview = expect.unreachable()] = edges;
    const worker = addReleases(api, STAGING, 2, checkout.git("rev-parse", "HEAD"));
    api.namespaces
      .titled(`${STAGING}-api-keys`)
      ?.entries.set("key:0", { value: JSON.stringify(RECORD), metadata: RECORD });
    api.databases.snapshot(STAGING);
    const run = (script: string, ...args: string[]) => checkout.run(script, args, api.environment());
    const account = { api, worker, edge, preview, folder: join(folder, "backup"), run };
    const command = COMMANDS[name] ?? expect.unreachable();
    await command.prepare?.(account);
    spoil(api);
    return { ...(await command.run(account)), usedRights: api.usedRights };
  } finally {
    rmSync(folder, { recursive: true });
    for (const edge of edges) await edge.close();
    await api.close();
  }
}

test("every command of the table is tested", () => {
  expect([...TABLE.keys()]).toEqual(Object.keys(COMMANDS));
});

test("the table has every command of wrangler in the documentation", () => {
  const commands = PAGES.flatMap((page) =>
    [...readFileSync(page, "utf8").matchAll(/^ *npx (wrangler (?!login|dev|deploy ).+)/gm)].map(
      ([, command = ""]) => command,
    ),
  );
  expect(commands.length).toBeGreaterThan(20);
  const rows = [...TABLE.keys()].map((row) => row.replace("npx ", ""));
  expect(commands.filter((command) => !rows.some((row) => command.startsWith(row)))).toEqual([]);
});

test.concurrent.for(ROWS)("$command needs $permissions", async ({ command, permissions }, { expect }) => {
  const { code, stdout, stderr, usedRights } = await runWith(command, (api) => void (api.rights = permissions));
  expect(code, stdout + stderr).toBe(0);
  const isIncluded = (right = "") => right.endsWith(": Read") && usedRights.has(right.replace(": Read", ": Edit"));
  const needed = [...usedRights].filter((right) => right !== undefined && !isIncluded(right));
  expect(new Set(needed)).toEqual(new Set(permissions));
});

const LESS = ROWS.flatMap(({ command, permissions }) =>
  permissions.map((lacking) => ({
    command,
    lacking,
    rights: permissions.flatMap((permission) => (permission === lacking ? lesserOf(permission) : [permission])),
  })),
).filter(({ command }) => command.startsWith("npm "));

/** Editing needs more than reading. */
function lesserOf(permission: string): string[] {
  return permission.endsWith(": Edit") ? [permission.replace(": Edit", ": Read")] : [];
}

test.concurrent.for(LESS)("$command lacks $lacking, and says so", async ({ command, lacking, rights }, { expect }) => {
  const { code, stdout, stderr } = await runWith(command, (api) => void (api.rights = rights));
  // A rollback goes on without lease and key. Without the key, it cannot tell whether it succeeded.
  const goesOn = command === "npm run rollback" && lacking.startsWith("D1");
  expect(code, stdout + stderr).toBe(goesOn ? 0 : 1);
  // Where wrangler sent the request, the message does not tell whether it reads or edits.
  expect(stderr).toContain(`lacks the permission "${lacking.split(":")[0]}`);
});

test("wrangler without a connection is not refused, and the command says what to do", async () => {
  const { code, stderr } = await runWith("npm run release", (api) =>
    api.break("POST", "/workers/scripts/petstore-staging/versions", "cut"),
  );
  expect(code).toBe(1);
  expect(stderr).toMatch(
    /\nWrangler reports: fetch failed\. Check the network, the proxy and the firewall of this machine.+\n$/,
  );
});

test("a login is not missing because Cloudflare does not answer", async () => {
  const env = {
    CLOUDFLARE_API_TOKEN: "token",
    CLOUDFLARE_ACCOUNT_ID: "",
    CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:1",
  };
  expect(await checkout.run("scripts/keys.ts", ["list", "--env=staging"], env)).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/^Wrangler reports: fetch failed\. Check the network/),
  });
});

test("a token that may not read the Worker reaches the keys by the id in wrangler.toml", async () => {
  const own = new Checkout();
  const api = await new CloudflareApi().listen();
  try {
    addReleases(api, STAGING, 1);
    const { id, entries } = api.namespaces.add("keys-elsewhere");
    entries.set("key:0", { value: JSON.stringify(RECORD), metadata: RECORD });
    const settings = join(own.folder, "wrangler.toml");
    const table = '[[env.staging.kv_namespaces]]\nbinding = "API_KEYS"\n';
    writeFileSync(settings, readFileSync(settings, "utf8").replace(table, `${table}id = "${id}"\n`));
    api.rights = ["Workers KV Storage: Read"];
    expect(await own.run("scripts/keys.ts", ["list", "--env=staging"], api.environment())).toEqual({
      code: 0,
      stdout: expect.stringContaining(ID),
      stderr: `The token may not read ${STAGING}. So the keys are in the namespace with the id ${id} of wrangler.toml.\n`,
    });
  } finally {
    await api.close();
    own.remove();
  }
});
