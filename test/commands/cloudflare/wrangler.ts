// Stands in for wrangler in a checkout: sends to Cloudflare's API what wrangler sends for the commands of releases and previews, and builds
// nothing. release.test.ts compares the requests of both.
import { appendFileSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";

const { CLOUDFLARE_API_BASE_URL, CLOUDFLARE_ACCOUNT_ID, CLOUDFLARE_API_TOKEN, WRANGLER_OUTPUT_FILE_PATH } = process.env;
const { values, positionals } = parseArgs({ strict: false, allowPositionals: true });
const settings = JSON.parse(readFileSync(String(values["config"]), "utf8"));
const script = `/workers/scripts/${settings.name}`;
const annotations = { "workers/message": values["message"], "workers/tag": values["tag"] };

async function send(method: string, path: string, body?: object): Promise<any> {
  const resource = `/accounts/${CLOUDFLARE_ACCOUNT_ID}${path}`;
  const response = await fetch(`${CLOUDFLARE_API_BASE_URL}${resource}`, {
    method,
    headers: { Authorization: `Bearer ${CLOUDFLARE_API_TOKEN}`, "User-Agent": "wrangler/0.0.0" },
    ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  if (text.startsWith("<")) throw new Error(`Received a malformed response from the API\n\n  ${text}`);
  const { success, result, errors } = JSON.parse(text);
  if (success) return result;
  const [{ message, code }] = errors;
  throw new Error(`A request to the Cloudflare API (${resource}) failed.\n\n  ${message} [code: ${code}]`);
}

/** What there is, or undefined before the first deployment. */
const find = (path: string) =>
  send("GET", path).catch((error: unknown) => {
    if (!String(error).includes("[code: 10007]")) throw error;
  });

async function migrate(): Promise<void> {
  const [{ database_id, migrations_dir }] = settings.d1_databases;
  const query = (sql: string) => send("POST", `/d1/database/${database_id}/query`, { sql });
  await query(`CREATE TABLE IF NOT EXISTS "d1_migrations"( id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE,
    applied_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP NOT NULL );`);
  const [{ results }] = await query('SELECT * FROM "d1_migrations" ORDER BY id');
  const applied = new Set(results.map(({ name }: { name: string }) => name));
  for (const name of readdirSync(migrations_dir).toSorted()) {
    if (!name.endsWith(".sql") || applied.has(name)) continue;
    console.log(name);
    const sql = readFileSync(join(migrations_dir, name), "utf8");
    await query(`${sql}\nINSERT INTO "d1_migrations" (name) values ('${name}');`);
  }
}

/** Uploads the Worker. Returns the id of the version. */
async function upload(isDeployed: boolean): Promise<string> {
  const service = await find(`/workers/services/${settings.name}`);
  const isFirst = service === undefined;
  await find(`${script}/secrets`);
  if (isDeployed && isFirst) await send("GET", "/workers/subdomain");
  if (isDeployed) await find(`${script}/deployments`);
  const migrations = pendingMigrations(await find(`/workers/services/${settings.name}`));
  const { directory, run_worker_first } = settings.assets;
  const { jwt } = await send("POST", `${script}/assets-upload-session`, { manifest: manifestOf(directory) });
  await find(`${script}/settings`);
  console.log("env.RATE_LIMITER (1000 requests/60s)   Rate Limit");
  const _headers = readFileSync(join(directory, "_headers"), "utf8");
  const assets = { jwt, config: { run_worker_first, _headers } };
  const form = new FormData();
  const keep_bindings = ["secret_text", "secret_key"];
  form.set("metadata", JSON.stringify({ bindings: bindings(), keep_bindings, annotations, assets, migrations }));
  if (isDeployed && (isFirst || migrations !== undefined)) {
    const { deployment_id } = await send("PUT", script, form);
    return deployment_id.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  }
  const { id } = await send("POST", `${script}/versions`, form);
  if (!isDeployed) return id;
  await send("POST", `${script}/deployments`, {
    strategy: "percentage",
    versions: [{ version_id: id, percentage: 100 }],
    annotations: { "workers/message": values["message"] },
    code_update_strategy: settings.durable_objects.code_update_strategy,
  });
  await send("PATCH", `${script}/script-settings`, { observability: settings.observability, tags: [] });
  return id;
}

/** The migrations of Durable Objects that the Worker does not have. */
function pendingMigrations(service: any): object | undefined {
  const old_tag = service?.default_environment.script.migration_tag;
  const first = settings.migrations.findIndex(({ tag }: any) => tag === old_tag) + 1;
  const pending = settings.migrations.slice(first);
  if (pending.length === 0) return undefined;
  return { old_tag, new_tag: pending.at(-1).tag, steps: pending.map((step: object) => ({ ...step, tag: undefined })) };
}

function secrets(): object[] {
  if (values["secrets-file"] === undefined) return [];
  const file: { [name: string]: string } = JSON.parse(readFileSync(String(values["secrets-file"]), "utf8"));
  return Object.entries(file).map(([name, text]) => ({ name, type: "secret_text", text }));
}

function bindings(): object[] {
  const { vars, kv_namespaces, durable_objects, d1_databases, ratelimits, version_metadata, assets } = settings;
  return [
    ...Object.entries(vars).map(([name, text]) => ({ name, type: "plain_text", text })),
    ...secrets(),
    ...kv_namespaces.map(({ binding, id }: any) => ({ name: binding, type: "kv_namespace", namespace_id: id })),
    ...durable_objects.bindings.map((object: object) => ({ ...object, type: "durable_object_namespace" })),
    ...d1_databases.map(({ binding, database_id }: any) => ({ name: binding, type: "d1", id: database_id })),
    ...ratelimits.map((limit: object) => ({ ...limit, type: "ratelimit" })),
    { name: version_metadata.binding, type: "version_metadata" },
    { name: assets.binding, type: "assets" },
  ];
}

const manifestOf = (folder: string) =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name !== "_headers")
      .map((entry) => join(entry.parentPath, entry.name))
      .map((file) => [`/${relative(folder, file)}`, { hash: "0".repeat(32), size: statSync(file).size }]),
  );

async function deployTriggers(): Promise<void> {
  await send("GET", `/workers/workers/${settings.name}`);
  await send("GET", "/workers/subdomain");
  const { workers_dev: enabled, preview_urls: previews_enabled, triggers } = settings;
  await send("POST", `${script}/subdomain`, { enabled, previews_enabled });
  if (triggers)
    await send(
      "PUT",
      `${script}/schedules`,
      triggers.crons.map((cron: string) => ({ cron })),
    );
}

const [command = ""] = positionals;
try {
  if (command === "d1") await migrate();
  if (values["dry-run"]) process.exit();
  const version_id = /deploy|versions/.test(command) ? await upload(command === "deploy") : undefined;
  if (/deploy|triggers/.test(command)) await deployTriggers();
  if (version_id) appendFileSync(WRANGLER_OUTPUT_FILE_PATH ?? "", JSON.stringify({ version_id }));
} catch (error) {
  console.error(`✘ [ERROR] ${(error as Error).message}`);
  process.exitCode = 1;
}
