import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { App, AppEnv } from "../env.ts";
import { lazy } from "../lazy.ts";

/** For responses to requests with an `Origin`. Any origin may call, and there are no cookies (Fetch, section 3.2). */
export const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Accept-Encoding,Accept-Patch,Age,Allow,Deprecation,ETag,Idempotency-Replayed,Link,Location,Retry-After,Sunset,WWW-Authenticate,X-Request-Id,x-d1-bookmark",
};

/**
 * Responds to CORS preflights (Fetch, section 3.2.2), without a key. The methods are those of the operations. `methodsOf`
 * handles any other OPTIONS.
 */
export function preflight(app: App): MiddlewareHandler<AppEnv> {
  const respond = lazy(() =>
    cors({
      origin: "*",
      allowMethods: operationMethods(app),
      allowHeaders: [
        "Authorization",
        "Cache-Control",
        "Content-Type",
        "Idempotency-Key",
        "If-Match",
        "If-None-Match",
        "x-d1-bookmark",
      ],
      maxAge: 86_400,
    }),
  );
  return (c, next) =>
    c.req.method === "OPTIONS" && c.req.header("Access-Control-Request-Method") !== undefined
      ? respond()(c, next)
      : next();
}

function operationMethods(app: App): string[] {
  const methods = app.routes.map(({ method }) => method).filter((method) => method !== "ALL");
  return [...new Set([...methods, "HEAD"])].toSorted();
}
