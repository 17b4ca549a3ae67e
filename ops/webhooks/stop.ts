import { PetStoreError, type Webhook } from "../../client/src/index.ts";
import { STOPPED_TABLE } from "../backup/tables.ts";
import { eventually } from "../release/cloudflare.ts";
import { query } from "../release/database.ts";
import type { Terminal } from "../terminal.ts";
import type { Service } from "./command-line.ts";
import { MAX_WEBHOOKS } from "./state.ts";

/** Not a migration: the service has nothing to do with it. */
const CREATE = `CREATE TABLE IF NOT EXISTS ${STOPPED_TABLE} (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)`;

/**
 * Disables webhooks. Each is noted before it is disabled, with the version that this gives it, so that `resume` enables no other.
 *
 * @param ids of them. All unless given.
 * @throws Error when one of them does not exist, and when the service fails.
 */
export async function stop(service: Service, ids: readonly string[] | undefined, terminal: Terminal): Promise<void> {
  const { webhooks } = service.session;
  // Before it stops any, so that none is stopped that it cannot note.
  await remember(service, `SELECT 1 FROM ${STOPPED_TABLE}`);
  const all = ids ?? (await webhooks.list().all(MAX_WEBHOOKS)).map(({ id }) => String(id));
  for (const id of all) {
    const result = await eventually(async () => {
      const { webhook, etag } = await webhooks.get(id);
      if (!webhook.enabled) return `${id} was disabled already.`;
      const version = BigInt(etag.replaceAll('"', "")) + 1n;
      await remember(service, `INSERT OR REPLACE INTO ${STOPPED_TABLE} VALUES (${webhook.id}, ${version})`);
      const stopped = await unlessChanged(webhooks.update(webhook.id, { enabled: false }, { ifMatch: etag }));
      // Somebody else made this version.
      if (stopped === undefined)
        await remember(service, `DELETE FROM ${STOPPED_TABLE} WHERE id = ${webhook.id} AND version = ${version}`);
      return stopped && `${name(stopped)} is stopped.`;
    });
    if (result === undefined) throw new Error(`${id} is changed again and again. Run the command again.`);
    terminal.print(result);
  }
}

/** Enables the webhooks that `stop` disabled. One that somebody changed since stays as it is. @throws Error when the service fails. */
export async function resume(service: Service, terminal: Terminal): Promise<void> {
  const { webhooks } = service.session;
  const found = await remember(service, `SELECT CAST(id AS TEXT) AS id, version FROM ${STOPPED_TABLE} ORDER BY 1`);
  for (const { id, version } of found) {
    const enabled = await unlessChanged(webhooks.update(id, { enabled: true }, { ifMatch: `"${version}"` }));
    const changed = `${id} was changed or deleted since it was stopped. It stays as it is.`;
    terminal.print(enabled === undefined ? changed : `${name(enabled)} delivers again.`);
    await remember(service, `DELETE FROM ${STOPPED_TABLE} WHERE id = ${id} AND version = ${version}`);
  }
  if (found.length === 0) terminal.print("No webhook is stopped.");
}

const name = ({ id, url }: Webhook) => `${id} (${new URL(url).host})`;

function remember({ cloudflare, database }: Service, sql: string): Promise<{ id: string; version: number }[]> {
  return query(cloudflare, database, `${CREATE};\n${sql}`);
}

/** The webhook after an update. Undefined when somebody changed or deleted it before. */
async function unlessChanged(update: Promise<{ webhook: Webhook }>): Promise<Webhook | undefined> {
  return update.then(
    ({ webhook }) => webhook,
    (error: unknown) => {
      const isChanged = error instanceof PetStoreError && ["precondition_failed", "not_found"].includes(error.code);
      if (!isChanged) throw error;
      return undefined;
    },
  );
}
