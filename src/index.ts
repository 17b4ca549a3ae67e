import { createApp } from "./app.ts";
import { forgetOld } from "./changes/purge.ts";

export { WebhookEndpoint } from "./webhooks/engine/endpoint.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** Every hour, by the cron trigger in wrangler.toml. */
  async scheduled(_controller, env) {
    const { keys, events } = await forgetOld(env.DB, env.EVENT_DAYS);
    console.log(JSON.stringify({ level: "info", event: "idempotency keys forgotten", ...keys }));
    console.log(JSON.stringify({ level: "info", event: "events forgotten", ...events }));
  },
} satisfies ExportedHandler<Env>;
