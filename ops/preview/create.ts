import { SCOPES } from "../../src/auth/scopes.ts";
import { openRemote } from "../keys/namespace.ts";
import { createKey } from "../keys/operations.ts";
import { KeyStore } from "../keys/store.ts";
import { connect } from "../release/cloudflare.ts";
import { createDatabase, findDatabase, migrate, query } from "../release/database.ts";
import { upload } from "../release/deployment.ts";
import { createNamespace, findNamespace } from "../release/namespace.ts";
import { smokeTest } from "../release/smoke-test.ts";
import { addressOf } from "../release/target.ts";
import { versionOfSecret, withNewTokenSecret } from "../release/token-secret.ts";
import { SEED } from "../../scripts/seed.ts";
import type { Terminal } from "../terminal.ts";
import { writePreviewConfiguration } from "./configuration.ts";
import type { Preview } from "./names.ts";

export interface CreateOptions {
  name: Preview;
  json?: true;
  url?: URL;
  /** Seconds. */
  wait: number;
}

/** Milliseconds. Every update makes a new key, so no key has to outlive a preview that nobody updates. */
export const KEY_LIFE = 7 * 86_400_000;

/**
 * Deploys the working tree to a preview, and creates what the preview does not have yet. Can be repeated after a failure: the steps before it
 * stay done.
 */
export async function createPreview(
  { name: preview, json, url, wait }: CreateOptions,
  terminal: Terminal,
): Promise<void> {
  const cloudflare = await connect(terminal);
  // The database first: its time of creation keeps the rest from being swept meanwhile.
  const present = await findDatabase(cloudflare, preview.database);
  cloudflare.refuseClock();
  const database = present ?? (await createDatabase(cloudflare, preview.database, {}));
  const namespace =
    (await findNamespace(cloudflare, preview.namespace)) ?? (await createNamespace(cloudflare, preview.namespace));
  const config = writePreviewConfiguration(preview, { database: database.uuid, namespace: namespace.id });
  await migrate(cloudflare, database.uuid, config, terminal);
  await query(cloudflare, database.uuid, SEED.join(";"));
  // A key with the prefix of staging, because the preview runs as staging. It is in the preview's namespace only.
  const { key } = await createKey(new KeyStore("staging", openRemote(cloudflare, namespace.id)), {
    name: `Preview ${preview.name}`,
    scopes: SCOPES,
    expires: (createdAt) => createdAt + KEY_LIFE,
  });

  // The secret of a preview stays, so that an update does not end its tokens.
  const deploy = (more: readonly string[]) => upload(cloudflare, ["deploy", `--config=${config}`, "--env=", ...more]);
  const hasOne = (await versionOfSecret(cloudflare, preview.worker)) !== undefined;
  const version = await (hasOne ? deploy([]) : withNewTokenSecret(deploy));
  const address = url ?? (await addressOf(cloudflare, { name: preview.worker }));
  await smokeTest({ address, version, key, wait }, terminal);
  // Has GitHub Actions hide the key in its logs, wherever it appears from here on.
  if (process.env["GITHUB_ACTIONS"] === "true") terminal.say(`::add-mask::${key}`);
  const { name } = preview;
  const { origin } = address;
  if (json) return terminal.print(JSON.stringify({ name, address: origin, version, key }));
  terminal.print(`
Preview ${name}
  Address  ${origin}
  Version  ${version}
  API key  ${key}
           It is shown this once, works in this preview only, and expires in 7 days.
  Delete   npm run preview -- --name ${name} --delete`);
}
