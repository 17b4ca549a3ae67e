import { createApp } from "./app.ts";
import { forgetOld } from "./jobs/purge.ts";
import { foldNames, MAX_FOLDS } from "./pets/fold-names.ts";
import { indexNames } from "./pets/index-names.ts";
import { nudgeAll } from "./webhooks/nudge.ts";

export { WebhookEndpoint } from "./object.ts";

const app = createApp();

/** Statements of a run. An invocation of a Worker may have 1,000, and 50 on the Free plan (D1 documentation, Limits). */
const MAX_STATEMENTS = 990;

export default {
  fetch: app.fetch,

  /** Every hour, by the cron trigger in wrangler.toml. */
  async scheduled(_controller, env) {
    // First: what follows may use up the statements of the plan.
    await nudgeAll(env).catch((error: unknown) =>
      console.error(JSON.stringify({ level: "error", message: "The webhooks were not nudged", cause: String(error) })),
    );
    let left = MAX_STATEMENTS;
    const DB = { prepare: (sql: string) => (left--, env.DB.prepare(sql)) } as D1Database;
    const { keys, events } = await forgetOld(DB, env.EVENT_DAYS);
    console.log(JSON.stringify({ level: "info", event: "idempotency keys forgotten", ...keys }));
    console.log(JSON.stringify({ level: "info", event: "events forgotten", ...events }));
    console.log(
      JSON.stringify({ level: "info", event: "names folded", ...(await foldNames(DB, Math.min(MAX_FOLDS, left / 2))) }),
    );
    console.log(JSON.stringify({ level: "info", event: "names indexed", ...(await indexNames(env.DB, left)) }));
  },
} satisfies ExportedHandler<Env>;
