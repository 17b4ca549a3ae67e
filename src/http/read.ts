import type { Context } from "hono";
import { routePath } from "hono/route";
import type * as z from "zod/mini";
import type { Stored } from "../db/resource.ts";
import type { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { ApiError } from "../errors.ts";
import { IsolateCache } from "../isolate-cache.ts";
import { withFacts } from "../operation.ts";
import { customerOf } from "./authentication.ts";
import { allowedAge } from "./max-age.ts";
import { addNextPage, type Found, type Listed, type PageSchema, type Query, toPage } from "./paging.ts";
import { preconditionFailed, setEntityTag, statusOfRead } from "./precondition.ts";
import { query } from "./query.ts";
import { jsonText, noBody } from "./respond.ts";
import { openSessionAt, sentBookmark } from "./open-session.ts";

/** Maximum number of reads in the cache of an isolate. */
export const MAX_CACHED_READS = 1_000;
/** Maximum number of bytes that they take together. An isolate has 128 MB (Workers limits). */
export const MAX_CACHED_BYTES = 8 * 1024 * 1024;
const cache = new IsolateCache<Found<unknown> & { bookmark: string }>(MAX_CACHED_READS, MAX_CACHED_BYTES);

/**
 * The handler of a read of one resource, which takes preconditions and may come from memory. The path has to name the row, because the
 * version alone is its entity tag.
 *
 * @param select the statement of the row, from the id in the path.
 * @param missing the failure when there is no row.
 */
export function readOne<Body>(
  operationId: string,
  select: (c: Context<AppEnv>) => Statement<Stored<Body>>,
  missing: () => ApiError,
) {
  const handler = (c: Context<AppEnv>) =>
    respondToRead(c, async (session) => {
      const [found] = await session.read(select(c));
      if (found === undefined) throw missing();
      return { body: found.body, version: found.version };
    });
  return withFacts(handler, { operationId, cacheable: true, preconditions: true, headers: ["ETag"] });
}

/**
 * The handlers of a list, which may come from memory: the validation of its query, and the read.
 *
 * @param schema of the query, with `pageFields`.
 * @param select the statement of the rows within `pageBounds`, of a customer if there is one.
 * @param pageOf the page that its rows make, unless each of them is on it.
 */
export function readPage<Schema extends PageSchema, Body, Row extends Stored<Body>>(
  operationId: string,
  schema: () => Schema,
  select: (filter: z.output<Schema>, customer: string | null) => Statement<Row>,
  pageOf: (filter: z.output<Schema>, rows: Row[]) => Found<Listed<Body>[]> = toPage,
) {
  const handler = (
    c: Context<AppEnv, string, { in: { query: z.input<Schema> }; out: { query: z.output<Schema> } }>,
  ) => {
    const filter = c.req.valid("query");
    const find = async (session: Session) => pageOf(filter, await session.read(select(filter, customerOf(c))));
    const response = respondToRead(c, find, filter);
    // A request ends when its client leaves, also while the database answers. A search may read many rows, and the log has to tell.
    if ("q" in filter) c.executionCtx.waitUntil(response.catch(() => {}));
    return response;
  };
  return [query(schema), withFacts(handler, { operationId, cacheable: true, headers: ["Link"] })] as const;
}

/**
 * Responds to a read. It comes from the cache of the isolate if the request allows that (`allowedAge`), and else from the database. The
 * cache holds `Found` and the bookmark. Every header is made for the request.
 *
 * @param find reads it from the database.
 * @param query of a list, validated. The link to the next page keeps it.
 * @throws ApiError `precondition_failed`, `invalid_request` for the bookmark, and those of `find`.
 */
async function respondToRead<Body>(
  c: Context<AppEnv>,
  find: (session: Session) => Promise<Found<Body>>,
  query: Query = {},
) {
  // A route without a guard must not reach what another request found.
  const customer = customerOf(c);
  const bookmark = sentBookmark(c);
  const age = allowedAge(c, bookmark !== undefined);
  if (age === 0) return respond(c, await find(openSessionAt(c, bookmark)), query);

  const key = JSON.stringify([routePath(c), c.req.param(), query, customer]);
  const cached = cache.get(key, age * 1_000);
  // Bookmarks order as texts (D1 docs, Time Travel).
  if (cached !== undefined && (bookmark === undefined || bookmark <= cached.value.bookmark)) {
    setAge(c, cached.readAt);
    c.get("log").cached = true;
    c.get("headers")["x-d1-bookmark"] = cached.value.bookmark;
    return respond<Body>(c, cached.value as Found<Body>, query);
  }
  const readAt = Date.now();
  const session = openSessionAt(c, bookmark);
  const found = await find(session);
  // Other requests get this bookmark, so it must not be one that the client of this request made up.
  const reached = session.confirmedBookmark;
  // Two bytes a character, at most.
  if (reached !== undefined)
    cache.set(key, { ...found, bookmark: reached }, readAt, 2 * (key.length + found.body.length));
  return respond(c, found, query);
}

/** Tells how many seconds ago the content of a response was read (RFC 9111, section 5.1). The clock may have been set back since. */
export function setAge(c: Context<AppEnv>, readAt: number): void {
  c.get("headers")["Age"] = String(Math.max(0, Math.floor((Date.now() - readAt) / 1_000)));
}

function respond<Body>(c: Context<AppEnv>, { body, version, next }: Found<Body>, query: Query) {
  if (next !== undefined) addNextPage(c, query, next);
  if (version === undefined) return jsonText<Body, 200>(c, body, 200);
  const status = statusOfRead(c, version);
  if (status === 412) throw preconditionFailed();
  setEntityTag(c, version);
  return status === 304 ? noBody(c, 304) : jsonText<Body, 200>(c, body, 200);
}
