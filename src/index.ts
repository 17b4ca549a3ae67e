import { createApp } from "./app.ts";
import { forgetOld } from "./jobs/purge.ts";
import { foldNames } from "./pets/fold-names.ts";
import { nudgeAll } from "./webhooks/nudge.ts";

export { WebhookEndpoint } from "./webhooks/engine/endpoint.ts";

const app = createApp();

export default {
  fetch: app.fetch,

  /** Every hour, by the cron trigger in wrangler.toml. */
  async scheduled(_controller, env) {
    // First: what follows may use up the statements of the plan.
    await nudgeAll(env).catch((error: unknown) =>
      console.error(JSON.stringify({ level: "error", message: "The webhooks were not nudged", cause: String(error) })),
    );
    const { keys, events } = await forgetOld(env.DB, env.EVENT_DAYS);
    console.log(JSON.stringify({ level: "info", event: "idempotency keys forgotten", ...keys }));
    console.log(JSON.stringify({ level: "info", event: "events forgotten", ...events }));
    console.log(JSON.stringify({ level: "info", event: "names folded", ...(await foldNames(env.DB)) }));
  },
} satisfies ExportedHandler<Env>;
