import { createApp } from "./app.ts";
import { forgetExpiredKeys } from "./changes/purge.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** Every hour, by the cron trigger in wrangler.toml. */
  async scheduled(_controller, env) {
    const forgotten = await forgetExpiredKeys(env.DB);
    console.log(JSON.stringify({ level: "info", event: "idempotency keys forgotten", count: forgotten }));
  },
} satisfies ExportedHandler<Env>;
