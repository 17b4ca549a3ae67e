import type { Context, TypedResponse } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { AppEnv } from "../env.ts";
import type { Json } from "../exact/json.ts";
import { CORS_HEADERS } from "./cors.ts";

/** The headers of every response. An operation can override them. */
const DEFAULT_HEADERS = {
  "Cache-Control": "no-store",
  "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
  "Strict-Transport-Security": "max-age=15552000; includeSubDomains",
  "X-Content-Type-Options": "nosniff",
};

/** The first headers of a response: those of every response, and CORS for a request with an `Origin`. */
export function startHeaders(c: Context<AppEnv>, requestId: string): void {
  const headers: Record<string, string> = { ...DEFAULT_HEADERS, "X-Request-Id": requestId };
  if (c.req.header("Origin") !== undefined) Object.assign(headers, CORS_HEADERS);
  c.set("headers", headers);
}

/** Adds a link to the response (RFC 8288). A response may have several. */
export function addLink(c: Context<AppEnv>, link: string): void {
  const headers = c.get("headers");
  headers["Link"] = headers["Link"] === undefined ? link : `${headers["Link"]}, ${link}`;
}

/** Responds with JSON and with the headers of the request (`c.get("headers")`). */
export function json<Body, Status extends ContentfulStatusCode>(c: Context<AppEnv>, body: Body, status: Status) {
  return jsonText<Body, Status>(c, JSON.stringify(body), status);
}

/** Responds with a body that is already JSON. */
export function jsonText<Body, Status extends ContentfulStatusCode>(
  c: Context<AppEnv>,
  text: Json<Body>,
  status: Status,
) {
  const response = new Response(text, { status, headers: responseHeaders(c, "application/json") });
  c.set("finished", response);
  return response as Response & TypedResponse<Body, Status, "json">;
}

/** Responds without a body. */
export function noBody<Status extends 204 | 304>(c: Context<AppEnv>, status: Status) {
  const response = new Response(null, { status, headers: responseHeaders(c) });
  c.set("finished", response);
  return response as Response & TypedResponse<null, Status, "body">;
}

/**
 * Adds the headers to any other response: from Hono's own methods, a library or the assets. Headers that the response already
 * has take precedence.
 */
export function completeResponse(c: Context<AppEnv>): void {
  if (c.res === c.get("finished")) return;
  const response = new Response(c.res.body, c.res);
  for (const [name, value] of Object.entries(responseHeaders(c))) {
    if (!response.headers.has(name)) response.headers.set(name, value);
  }
  // Setting a response over another one would make Hono merge their headers.
  c.res = undefined;
  c.res = response;
}

/** The headers of the response, for one that is made elsewhere. */
export function responseHeaders(c: Context<AppEnv>, contentType?: string): Record<string, string> {
  const headers = c.get("headers");
  const bookmark = c.get("database")?.bookmark;
  if (bookmark !== undefined) headers["x-d1-bookmark"] = bookmark;
  if (contentType !== undefined) headers["Content-Type"] = contentType;
  return headers;
}
