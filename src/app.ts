import { Hono } from "hono";
import { cors } from "hono/cors";
import { methodNotAllowed } from "hono/method-not-allowed";
import { secureHeaders } from "hono/secure-headers";
import { version } from "../package.json";
import { documentation } from "./http/documentation.ts";
import { authenticate } from "./auth/bearer.ts";
import type { AppEnv } from "./env.ts";
import { onError, onMethodNotAllowed, onNotFound } from "./http/errors.ts";
import { lingeringClose } from "./http/lingering-close.ts";
import { requestLog } from "./http/request-log.ts";
import { getPetDeprecation, pets } from "./pets/routes.ts";

/** For clients in TypeScript: `hc<AppType>(...)` of hono/client knows every operation with its types. */
export type AppType = ReturnType<typeof createApp>;

/** The whole service: what every request passes, what is public, and what is behind a key. */
export function createApp() {
  const app = new Hono<AppEnv>();
  app.onError(onError);
  app.notFound(onNotFound);

  app.use(lingeringClose);
  app.use(requestLog);
  app.use(
    secureHeaders({
      contentSecurityPolicy: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] },
      xFrameOptions: "DENY",
      // The pages under /docs set a policy of their own.
      overwrite: false,
      // For browsers and plug-ins that are gone.
      xDnsPrefetchControl: false,
      xDownloadOptions: false,
      xPermittedCrossDomainPolicies: false,
      xXssProtection: false,
    }),
  );
  const crossOrigin = cors({
    origin: "*",
    allowMethods: ["GET", "HEAD", "POST"],
    allowHeaders: ["Authorization", "Content-Type", "Idempotency-Key", "x-d1-bookmark"],
    exposeHeaders: [
      "Allow",
      "Deprecation",
      "Idempotency-Replayed",
      "Link",
      "Location",
      "Retry-After",
      "Sunset",
      "WWW-Authenticate",
      "X-Request-Id",
      "x-d1-bookmark",
    ],
    maxAge: 86_400,
  });
  // The middleware takes every OPTIONS for a preflight; one that is none is a method like others, and we do not have it.
  app.use((c, next) =>
    c.req.method === "OPTIONS" && !c.req.header("Access-Control-Request-Method") ? next() : crossOrigin(c, next),
  );
  app.use(methodNotAllowed({ app, onMethodNotAllowed }));

  app.get("/", (c) => c.redirect("/docs"));
  app.get("/openapi.json", documentation).get("/docs", documentation).get("/docs/*", documentation);
  app.get("/health", (c) => c.json({ status: "ok", version }, 200, { "Cache-Control": "no-store" }));

  // Before the key is asked for, because a 401 of the operation announces its end as well.
  app.get("/v1/pets/:petId", getPetDeprecation);
  app.use("/v1/*", authenticate);
  return app.route("/v1/pets", pets);
}
