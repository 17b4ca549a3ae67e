import type { Context, Handler } from "hono";
import type { AppEnv } from "../env.ts";
import { ORIGIN } from "./paging.ts";

/** Everything comes from this origin. The script of the renderer sets inline styles. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** Further headers that protect a page. JSON needs none of them. `X-Frame-Options` repeats the policy for old browsers. */
const PAGE_HEADERS = {
  "Content-Security-Policy": CONTENT_SECURITY_POLICY,
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Referrer-Policy": "no-referrer",
  "X-Frame-Options": "DENY",
};

/**
 * The OpenAPI document, which pages of any origin may read. A cache may store it, so its headers do not depend on the `Origin`.
 */
const DOCUMENT_HEADERS = { "Access-Control-Allow-Origin": "*" };

/** Any host: the path alone names an asset. A malformed `Host`, which workerd accepts, would make the address of the request invalid. */
export const ASSETS_ORIGIN = "https://assets.invalid";

const DOCUMENT = "/openapi.json";
/** Its server, as openapi/build.ts writes it, and the bytes in which it is. */
const SERVER = '"url": "/v1"';
const BEGINNING_BYTES = 4_096;

/** The page at a path without one, for browsers. */
const MISSING_PAGE = "/docs/404";

/** The OpenAPI document and the pages about it: static assets, built by openapi/build.ts. */
export const documentation: Handler<AppEnv> = async (c) => {
  const asset = await fetchAsset(c, c.req.path, c.req.raw.headers);
  const isMissing = asset.status === 404;
  if (isMissing && !c.req.header("Accept")?.includes("text/html")) return c.notFound();
  const page = isMissing ? await fetchAsset(c, MISSING_PAGE) : asset;
  const isDocument = c.req.path === DOCUMENT;
  // A response to HEAD, and one without a change, has no body.
  const hasServer = isDocument && page.body !== null;
  const body = hasServer ? withServer(await page.arrayBuffer(), c.req.url) : page.body;
  const response = new Response(body, { status: asset.status, headers: page.headers });
  if (isDocument) response.headers.delete("Content-Length");
  if (isMissing) response.headers.set("Cache-Control", "no-store");
  const own = isDocument ? DOCUMENT_HEADERS : PAGE_HEADERS;
  for (const [name, value] of Object.entries(own)) response.headers.set(name, value);
  return response;
};

/**
 * The document with the address that the request came to: importers make nothing of a relative server. Only the beginning is read as text,
 * because the rest would cost milliseconds.
 */
function withServer(document: ArrayBuffer, url: string): Blob {
  const bytes = new Uint8Array(document);
  const server = String.fromCharCode(...bytes.subarray(0, BEGINNING_BYTES)).indexOf(SERVER);
  const start = server === -1 ? 0 : server + SERVER.indexOf("/");
  return new Blob([bytes.subarray(0, start), ORIGIN.exec(url)?.[0] ?? "", bytes.subarray(start)]);
}

/** Without the request body that an odd client may have sent, and without a query, which names no asset. */
function fetchAsset(c: Context<AppEnv>, path: string, headers?: Headers): Promise<Response> {
  return c.env.ASSETS.fetch(ASSETS_ORIGIN + encodeURI(path), { method: c.req.method, ...(headers && { headers }) });
}
