import type { Context, Handler } from "hono";
import type { AppEnv } from "../env.ts";
import { crc32 } from "../hash/crc32.ts";
import { weightsOf } from "./accept.ts";
import { ORIGIN } from "./paging.ts";

/** Stands for the address of the deployment in what openapi/build.ts writes. */
export const PLACEHOLDER = "https://petstore.example";

/** What a program finds from a page and from `/` (RFC 8288, RFC 8631, and RFC 9727, section 3). */
export const PAGE_LINKS =
  '</openapi.json>; rel="service-desc", </docs>; rel="service-doc", </llms.txt>; rel="describedby", </.well-known/api-catalog>; rel="api-catalog"';

/** The media types of the texts for programs: Markdown, llms.txt and robots.txt, the sitemap, and the catalogue. */
const TEXT = /^(?:text\/(?:markdown|plain)|application\/(?:xml|linkset\+json))/;

/** Any host: the path alone names an asset. A malformed `Host`, which workerd accepts, would make the address of the request invalid. */
export const ASSETS_ORIGIN = "https://assets.invalid";

const DOCUMENT = "/openapi.json";
/** Its server, as openapi/build.ts writes it, and the bytes in which it is. */
const SERVER = '"url": "/v1"';
const BEGINNING_BYTES = 4_096;

/** The page at a path without one, for browsers. */
export const MISSING_PAGE = "/docs/404";

/** The OpenAPI document, the pages about it and the texts for programs: static assets with their headers, built by openapi/build.ts. */
export const documentation: Handler<AppEnv> = async (c) => {
  const { path } = c.req;
  const origin = ORIGIN.exec(c.req.url)?.[0] ?? "";
  const { headers, ending } = withoutEnding(c.req.raw.headers, origin);
  const isNegotiated = !path.includes(".") && prefersMarkdown(headers.get("Accept") ?? "");
  const markdown = isNegotiated ? await fetchAsset(c, `${path.replace(/\/$/, "")}.md`, headers) : undefined;
  const asset = markdown !== undefined && markdown.status !== 404 ? markdown : await fetchAsset(c, path, headers);
  const isMissing = asset.status === 404;
  if (isMissing && !c.req.header("Accept")?.includes("text/html")) return c.notFound();
  const page = isMissing ? await fetchAsset(c, MISSING_PAGE) : asset;
  const isDocument = path === DOCUMENT;
  const namesAddress = isDocument || TEXT.test(page.headers.get("Content-Type") ?? "");
  // A response to HEAD, and one without a change, has no body.
  const body = namesAddress && page.body !== null ? await withAddress(page, isDocument, origin) : page.body;
  const response = new Response(body, { status: asset.status, headers: page.headers });
  if (namesAddress) {
    response.headers.delete("Content-Length");
    const tag = response.headers.get("ETag");
    if (tag !== null) response.headers.set("ETag", tag.slice(0, -1) + ending);
  }
  if (isMissing) response.headers.set("Cache-Control", "no-store");
  return response;
};

/** The console, in its page for this environment. Whoever has no key learns nothing from it. */
export const consolePage: Handler<AppEnv> = async (c) => {
  const { CONSOLE, ENVIRONMENT } = c.env;
  const page = CONSOLE === "on" && (await fetchAsset(c, `/console/${ENVIRONMENT}`, c.req.raw.headers));
  return page && page.status !== 404 ? page : c.notFound();
};

/** Whether an `Accept` names Markdown, with a weight above 0 and not below that of HTML. The most specific range gives the weight of HTML. */
export function prefersMarkdown(accept: string): boolean {
  const weights = weightsOf(accept);
  const markdown = weights.get("text/markdown") ?? 0;
  return markdown > 0 && markdown >= (weights.get("text/html") ?? weights.get("text/*") ?? weights.get("*/*") ?? 0);
}

/** The document or a text with the address that the request came to. */
async function withAddress(asset: Response, isDocument: boolean, origin: string): Promise<BodyInit> {
  if (isDocument) return withServer(await asset.arrayBuffer(), origin);
  return (await asset.text()).replaceAll(PLACEHOLDER, origin);
}

/**
 * The document with an absolute server: test/third-party/importers.test.ts has importers that want one. Only the beginning is read as text.
 */
function withServer(document: ArrayBuffer, origin: string): Blob {
  const bytes = new Uint8Array(document);
  const server = String.fromCharCode(...bytes.subarray(0, BEGINNING_BYTES)).indexOf(SERVER);
  const start = server === -1 ? 0 : server + SERVER.indexOf("/");
  return new Blob([bytes.subarray(0, start), origin, bytes.subarray(start)]);
}

/**
 * The headers for the assets, which know no address: a response that has one names it at the end of its `ETag`, because two hosts get
 * different contents.
 *
 * @returns also the end of these tags.
 */
function withoutEnding(sent: Headers, origin: string): { headers: Headers; ending: string } {
  const ending = `-${crc32(new TextEncoder().encode(origin)).toString(36)}"`;
  const tags = sent.get("If-None-Match");
  if (tags === null) return { headers: sent, ending };
  const headers = new Headers(sent);
  headers.set("If-None-Match", tags.replaceAll(ending, '"'));
  return { headers, ending };
}

/** Without the request body that an odd client may have sent, and without a query, which names no asset. */
function fetchAsset(c: Context<AppEnv>, path: string, headers?: Headers): Promise<Response> {
  return c.env.ASSETS.fetch(ASSETS_ORIGIN + encodeURI(path), { method: c.req.method, ...(headers && { headers }) });
}
