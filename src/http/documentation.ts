import type { Handler } from "hono";
import type { AppEnv } from "../env.ts";

/** Everything from this origin; the renderer sets styles of elements from its script. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** The OpenAPI document and the pages about it: static assets, built by openapi/build.ts. */
export const documentation: Handler<AppEnv> = async (c) => {
  // Without the body that a strange client may have sent.
  const { url, method, headers: requestHeaders } = c.req.raw;
  const asset = await c.env.ASSETS.fetch(url, { method, headers: requestHeaders });
  if (asset.status === 404) return c.notFound();
  const headers = new Headers(asset.headers);
  const own = { ...c.get("headers"), "Content-Security-Policy": CONTENT_SECURITY_POLICY };
  for (const [name, value] of Object.entries(own)) headers.set(name, value);
  return new Response(asset.body, { status: asset.status, headers });
};
