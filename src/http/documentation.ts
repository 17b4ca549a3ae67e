import type { Context, Handler } from "hono";
import type { AppEnv } from "../env.ts";

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
const ASSETS_ORIGIN = "https://assets.invalid";

/** The page at a path without one, for browsers. */
const MISSING_PAGE = "/docs/404";

/** The OpenAPI document and the pages about it: static assets, built by openapi/build.ts. */
export const documentation: Handler<AppEnv> = async (c) => {
  const asset = await fetchAsset(c, c.req.path, c.req.raw.headers);
  const isMissing = asset.status === 404;
  if (isMissing && !c.req.header("Accept")?.includes("text/html")) return c.notFound();
  const page = isMissing ? await fetchAsset(c, MISSING_PAGE) : asset;
  const response = new Response(page.body, { status: asset.status, headers: page.headers });
  if (isMissing) response.headers.set("Cache-Control", "no-store");
  const own = c.req.path === "/openapi.json" ? DOCUMENT_HEADERS : PAGE_HEADERS;
  for (const [name, value] of Object.entries(own)) response.headers.set(name, value);
  return response;
};

/** Without the request body that an odd client may have sent, and without a query, which names no asset. */
function fetchAsset(c: Context<AppEnv>, path: string, headers?: Headers): Promise<Response> {
  return c.env.ASSETS.fetch(ASSETS_ORIGIN + encodeURI(path), { method: c.req.method, ...(headers && { headers }) });
}
