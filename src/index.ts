import { createApp } from "./app.ts";
import { forgetOld } from "./jobs/purge.ts";
import { logFailure } from "./log/failure.ts";
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
    await nudgeAll(env).catch((error: unknown) => logFailure({ event: "webhooks nudged" }, error));
    let left = MAX_STATEMENTS;
    const DB = { prepare: (sql: string) => (left--, env.DB.prepare(sql)) } as D1Database;
    const log = (event: string, done: object) => console.log(JSON.stringify({ level: "info", event, ...done }));
    try {
      const { keys, events } = await forgetOld(DB, env.EVENT_DAYS);
      log("idempotency keys forgotten", keys);
      log("events forgotten", events);
      log("names folded", await foldNames(DB, Math.min(MAX_FOLDS, left / 2)));
      log("names indexed", await indexNames(env.DB, left));
    } catch (error) {
      logFailure({ event: "job" }, error);
      throw error;
    }
  },
} satisfies ExportedHandler<Env>;
