import type { Context } from "hono";
import { cors } from "hono/cors";
import type { AppEnv } from "../env.ts";

/** For responses to requests with an `Origin`. Any origin may call, and there are no cookies (Fetch, section 3.2). */
export const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Accept,Accept-Encoding,Accept-Patch,Accept-Post,Age,Allow,Deprecation,ETag,Idempotency-Replayed,Link,Location,Retry-After,Sunset,WWW-Authenticate,X-Request-Id,x-d1-bookmark",
};

/** Whether a request is a CORS preflight (Fetch, section 3.2.2). */
export const isPreflight = (c: Context<AppEnv>): boolean =>
  c.req.method === "OPTIONS" && c.req.header("Access-Control-Request-Method") !== undefined;

/** The response to a preflight, which needs no key. */
export function preflight(allowMethods: string[]): (c: Context<AppEnv>) => Promise<Response> {
  const respond = cors({
    origin: "*",
    allowMethods,
    allowHeaders: [
      "Authorization",
      "Cache-Control",
      "Content-Type",
      "Idempotency-Key",
      "If-Match",
      "If-None-Match",
      "x-d1-bookmark",
      // Of `/mcp`.
      "MCP-Protocol-Version",
      "Mcp-Method",
      "Mcp-Name",
      // Libraries add these without being asked: tracing (W3C Trace Context and Baggage, Sentry), and Axios or jQuery.
      "traceparent",
      "tracestate",
      "baggage",
      "sentry-trace",
      "X-Requested-With",
    ],
    maxAge: 86_400,
  });
  return async (c) => {
    const response = await respond(c, () => Promise.resolve());
    if (response instanceof Response) return response;
    throw new Error("Hono's cors responds to every OPTIONS");
  };
}
