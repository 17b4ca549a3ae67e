import { version } from "../package.json";
import { consolePage, documentation, PAGE_LINKS } from "./http/documentation.ts";
import { onError } from "./http/error-handler.ts";
import { lifecycle } from "./http/lifecycle.ts";
import { allowedOrigin } from "./http/origin.ts";
import { boundedPath } from "./http/path.ts";
import { createRoutes } from "./operation.ts";
import { addLink, json } from "./http/respond.ts";
import { unmatched } from "./http/unmatched.ts";
import { handshakeOfPages } from "./live/handshake.ts";
import { endpoint } from "./mcp/endpoint.ts";
import { afterChanges } from "./jobs/after-changes.ts";
import { indexAfter } from "./pets/index-names.ts";
import { v1 } from "./v1.ts";
import { nudgeAfter } from "./webhooks/nudge.ts";

const DOCUMENTATION = [
  "/openapi.json",
  "/docs",
  "/docs.md",
  "/docs/*",
  "/llms.txt",
  "/llms-full.txt",
  "/robots.txt",
  "/sitemap.xml",
  "/.well-known/api-catalog",
];

/** The whole service: the middleware of every request, the public paths, and the paths that need a key. */
export function createApp() {
  const app = createRoutes({ getPath: boundedPath });
  app.onError(onError);
  app.notFound(unmatched(app, "/v1", "/mcp"));

  app.use("/v1/events/live", handshakeOfPages);
  app.use(lifecycle);
  app.all("/mcp", allowedOrigin);
  // Before it: the request of a call has its own.
  app.post("/mcp", endpoint(app.fetch));
  app.use(afterChanges(nudgeAfter, indexAfter));
  app.get("/", (c) => {
    addLink(c, PAGE_LINKS);
    return c.redirect("/docs");
  });
  app.on("GET", DOCUMENTATION, documentation);
  app.get("/console", consolePage);
  app.get("/health", (c) => json(c, { status: "ok", version, deployment: c.env.VERSION?.id }, 200));
  return app.route("/v1", v1);
}
