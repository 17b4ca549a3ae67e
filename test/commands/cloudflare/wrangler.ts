// Stands in for wrangler in a checkout: sends to Cloudflare's API what wrangler sends for the commands of releases and previews, and builds
// nothing. release.test.ts compares the requests of both.
import { appendFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import type { Configuration } from "../../../scripts/release/configuration.ts";

const { CLOUDFLARE_API_BASE_URL, CLOUDFLARE_ACCOUNT_ID, CLOUDFLARE_API_TOKEN, WRANGLER_OUTPUT_FILE_PATH } = process.env;
const TEXT = { type: "string" } as const;
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { config: TEXT, env: TEXT, "env-file": TEXT, tag: TEXT, message: TEXT, remote: { type: "boolean" } },
});

interface Settings extends Configuration {
  workers_dev: boolean;
  preview_urls: boolean;
  triggers?: { crons: string[] };
  ratelimits: object[];
  version_metadata: { binding: string };
  assets: { directory: string; binding: string; run_worker_first: boolean };
}

const settings = JSON.parse(readFileSync(values.config ?? "", "utf8")) as Settings;
const script = `/workers/scripts/${settings.name}`;

async function send<Result>(method: string, path: string, body?: object): Promise<Result> {
  const resource = `/accounts/${CLOUDFLARE_ACCOUNT_ID}${path}`;
  const response = await fetch(`${CLOUDFLARE_API_BASE_URL}${resource}`, {
    method,
    headers: { Authorization: `Bearer ${CLOUDFLARE_API_TOKEN}`, "User-Agent": "wrangler/0.0.0" },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (text.startsWith("<")) {
    const line = `${method} ${resource} -> ${response.status} ${response.statusText}`;
    throw new Error(`Received a malformed response from the API\n\n  ${text}\n  ${line}`);
  }
  const { success, result, errors } = JSON.parse(text);
  if (success) return result;
  const [{ message, code }] = errors;
  throw new Error(`A request to the Cloudflare API (${resource}) failed.\n\n  ${message} [code: ${code}]`);
}

/** What there is, or undefined before the first deployment. */
function find<Result>(path: string): Promise<Result | undefined> {
  return send<Result>("GET", path).catch((error: unknown) => {
    if (!String(error).includes("[code: 10007]")) throw error;
    return undefined;
  });
}

async function migrate(): Promise<void> {
  const [{ database_id, migrations_dir = "" } = {}] = settings.d1_databases;
  const query = (sql: string) =>
    send<{ results: { name: string }[] }[]>("POST", `/d1/database/${database_id}/query`, { sql });
  await query(`CREATE TABLE IF NOT EXISTS "d1_migrations"( id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
    applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL );`);
  const applied = (await query('SELECT * FROM "d1_migrations" ORDER BY id'))[0]?.results ?? [];
  const names = readdirSync(migrations_dir).filter((name) => name.endsWith(".sql"));
  for (const name of names.filter((name) => !applied.some((migration) => migration.name === name)).toSorted()) {
    console.log(name);
    const sql = readFileSync(join(migrations_dir, name), "utf8");
    await query(`${sql}\nINSERT INTO "d1_migrations" (name) values ('${name}');`);
  }
}

/** Uploads the Worker, with all requests if it is deployed. Returns the id of the version. */
async function upload(isDeployed: boolean): Promise<string> {
  const isThere = (await find(`/workers/services/${settings.name}`)) !== undefined;
  await find(`${script}/secrets`);
  if (isDeployed && !isThere) await send("GET", "/workers/subdomain");
  if (isDeployed) await find(`${script}/deployments`);
  const assets = await uploadAssets();
  await find(`${script}/settings`);
  console.log("env.RATE_LIMITER (1000 requests/60s)   Rate Limit");
  const { tag, message } = values;
  const annotations = { "workers/message": message, "workers/tag": tag };
  const form = new FormData();
  form.set("metadata", JSON.stringify({ bindings: bindings(), annotations, assets }));
  if (isDeployed && !isThere) {
    const { deployment_id } = await send<{ deployment_id: string }>("PUT", script, form);
    return deployment_id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
  }
  const { id } = await send<{ id: string }>("POST", `${script}/versions`, form);
  if (!isDeployed) return id;
  await send("POST", `${script}/deployments`, {
    strategy: "percentage",
    versions: [{ version_id: id, percentage: 100 }],
    annotations: { "workers/message": message },
    code_update_strategy: { mode: "deferred", max_delay: 300 },
  });
  await send("PATCH", `${script}/script-settings`, { observability: settings["observability"], tags: [] });
  return id;
}

function bindings(): object[] {
  return [
    ...Object.entries(settings.vars ?? {}).map(([name, text]) => ({ name, type: "plain_text", text })),
    ...settings.kv_namespaces.map(({ binding, id }) => ({ name: binding, type: "kv_namespace", namespace_id: id })),
    ...settings.d1_databases.map(({ binding, database_id }) => ({ name: binding, type: "d1", id: database_id })),
    ...settings.ratelimits.map((limit) => ({ ...limit, type: "ratelimit" })),
    { name: settings.version_metadata.binding, type: "version_metadata" },
    { name: settings.assets.binding, type: "assets" },
  ];
}

async function uploadAssets(): Promise<object> {
  const { directory, run_worker_first } = settings.assets;
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  const manifest = Object.fromEntries(
    files
      .filter((file) => file !== join(directory, "_headers"))
      .map((file) => [`/${relative(directory, file)}`, { hash: "0".repeat(32), size: statSync(file).size }]),
  );
  const { jwt } = await send<{ jwt: string }>("POST", `${script}/assets-upload-session`, { manifest });
  const _headers = readFileSync(join(directory, "_headers"), "utf8");
  return { jwt, config: { run_worker_first, _headers } };
}

async function deployTriggers(): Promise<void> {
  await send("GET", `/workers/workers/${settings.name}`);
  await send("GET", "/workers/subdomain");
  const { workers_dev: enabled, preview_urls: previews_enabled } = settings;
  await send("POST", `${script}/subdomain`, { enabled, previews_enabled });
  const crons = settings.triggers?.crons.map((cron) => ({ cron }));
  if (crons !== undefined) await send("PUT", `${script}/schedules`, crons);
}

async function run(command: string): Promise<void> {
  if (command === "d1 migrations apply DB") return migrate();
  if (command === "triggers deploy") return deployTriggers();
  if (command !== "deploy" && command !== "versions upload") throw new Error(`The stand-in has no ${command}`);
  const version_id = await upload(command === "deploy");
  if (command === "deploy") await deployTriggers();
  appendFileSync(WRANGLER_OUTPUT_FILE_PATH ?? "", `${JSON.stringify({ version_id })}\n`);
}

try {
  await run(positionals.join(" "));
} catch (error) {
  console.error(`✘ [ERROR] ${(error as Error).message}`);
  process.exitCode = 1;
}
