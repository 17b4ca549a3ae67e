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
 * Disables webhooks. Each is noted with the version that this gives it, so that `resume` enables no other.
 *
 * @param ids of them. All unless given.
 * @throws Error when one of them does not exist, and when the service fails. A repetition goes on.
 */
export async function stop(service: Service, ids: readonly string[] | undefined, terminal: Terminal): Promise<void> {
  const { webhooks } = service.session;
  // Fails without the permission also when there is nothing to stop.
  await remember(service, `SELECT 1 FROM ${STOPPED_TABLE}`);
  const all = ids ?? (await webhooks.list().all(MAX_WEBHOOKS)).map(({ id }) => String(id));
  for (const id of all) {
    const result = await eventually(async () => {
      const { webhook } = await webhooks.get(id);
      const isThis = `id = ${webhook.id}`;
      // In one transaction: by a note without the change, resume would enable what somebody else disabled later.
      const [noted] = await remember(
        service,
        `INSERT OR REPLACE INTO ${STOPPED_TABLE} SELECT id, version + 1 FROM webhooks WHERE ${isThis} AND enabled = 1;
        UPDATE webhooks SET enabled = 0, version = version + 1 WHERE ${isThis} AND enabled = 1;
        SELECT version FROM ${STOPPED_TABLE} JOIN webhooks USING (id, version) WHERE ${isThis}`,
      );
      if (noted === undefined) return `${id} was disabled already.`;
      // Changes nothing, but the service tells the object of the webhook, which would otherwise notice within a minute.
      const ifMatch = `"${noted.version}"`;
      const stopped = await unlessChanged(webhooks.update(webhook.id, { enabled: false }, { ifMatch }));
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
