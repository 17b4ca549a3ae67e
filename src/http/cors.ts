import type { Context } from "hono";
import type { AppEnv } from "../env.ts";

/** For responses to requests with an `Origin`. Any origin may call, and there are no cookies (Fetch, section 3.2). */
export const CORS_HEADERS = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Accept,Accept-Encoding,Accept-Patch,Accept-Post,Age,Allow,Deprecation,ETag,Idempotency-Replayed,Ignored-Fields,Link,Location,Retry-After,Sunset,WWW-Authenticate,X-Request-Id,x-d1-bookmark",
};

/** Whether a request is a CORS preflight (Fetch, section 3.2.2). */
export const isPreflight = (c: Context<AppEnv>): boolean =>
  c.req.method === "OPTIONS" && c.req.header("Access-Control-Request-Method") !== undefined;

/** The headers of a response to a preflight, which needs no key. No header depends on the request, so Hono's `cors` has nothing to do. */
export const preflightHeaders = (methods: readonly string[]) => ({
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Allow-Methods": methods.join(),
  // The last ones are of libraries, which nobody asks: tracing (W3C Trace Context and Baggage, Sentry), and X-Requested-With.
  "Access-Control-Allow-Headers":
    "Authorization,Cache-Control,Content-Type,Idempotency-Key,If-Match,If-None-Match,Last-Event-ID,x-d1-bookmark,MCP-Protocol-Version,Mcp-Method,Mcp-Name,traceparent,tracestate,baggage,sentry-trace,X-Requested-With",
  "Access-Control-Max-Age": "86400",
  Vary: "Access-Control-Request-Headers",
});
