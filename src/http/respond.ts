import type { Context, TypedResponse } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppEnv } from "../env.ts";

// Plain records that become one Response: Hono's header(), cors and secure-headers set each header of each answer by a call into the
// runtime, and together make a list a half dearer.
const EVERYWHERE = {
  "Access-Control-Allow-Origin": "*",
  "Access-Control-Expose-Headers":
    "Allow,Deprecation,Idempotency-Replayed,Link,Location,Retry-After,Sunset,WWW-Authenticate,X-Request-Id,x-d1-bookmark",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Referrer-Policy": "no-referrer",
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
  "X-Frame-Options": "DENY",
};

/** The headers of every answer, where those of a request start (`c.get("headers")`). */
export function startHeaders(requestId: string): Record<string, string> {
  return { ...EVERYWHERE, "X-Request-Id": requestId };
}

/** Responds with JSON, and with the headers that were gathered for this request on the way (`c.get("headers")`). */
export function json<Body, Status extends ContentfulStatusCode>(
  c: Context<AppEnv>,
  body: Body,
  status: Status,
  headers?: Record<string, string>,
) {
  return jsonText<Body, Status>(c, JSON.stringify(body), status, headers);
}

/** Responds with a body that is JSON already. */
export function jsonText<Body, Status extends ContentfulStatusCode>(
  c: Context<AppEnv>,
  text: string,
  status: Status,
  headers?: Record<string, string>,
) {
  const all = { ...c.get("headers"), "Content-Type": "application/json", ...headers };
  return new Response(text, { status, headers: all }) as Response & TypedResponse<Body, Status, "json">;
}
