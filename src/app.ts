import { Hono } from "hono";
import { version } from "../package.json";
import { documentation } from "./http/documentation.ts";
import { authenticate } from "./auth/bearer.ts";
import type { AppEnv } from "./env.ts";
import { onError, onNotFound } from "./http/errors.ts";
import { lingeringClose } from "./http/lingering-close.ts";
import { preflight } from "./http/preflight.ts";
import { requestLog } from "./http/request-log.ts";
import { json } from "./http/respond.ts";
import { pets } from "./pets/routes.ts";

/** For clients in TypeScript: `hc<AppType>(...)` of hono/client knows every operation with its types. */
export type AppType = ReturnType<typeof createApp>;

/** The whole service: what every request passes, what is public, and what is behind a key. */
export function createApp() {
  const app = new Hono<AppEnv>();
  app.onError(onError);
  app.notFound(onNotFound(app));

  app.use(lingeringClose, requestLog);
  app.options("*", preflight);
  app.get("/", (c) => new Response(null, { status: 302, headers: { ...c.get("headers"), Location: "/docs" } }));
  app.get("/openapi.json", documentation).get("/docs", documentation).get("/docs/*", documentation);
  app.get("/health", (c) => json(c, { status: "ok", version }, 200, { "Cache-Control": "no-store" }));

  const routes = app.route("/v1/pets", pets);
  // Whatever else is below /v1 tells a stranger no more than that a key is needed.
  app.all("/v1/*", authenticate);
  return routes;
}
