import type { Context } from "hono";
import { routePath } from "hono/route";
import * as z from "zod/mini";
import { type Bounds, type Sort, SORTS } from "../db/page.ts";
import { type Stored, withVersion } from "../db/resource.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { ApiError } from "../errors.ts";
import { decodeCursor, encodeCursor, type Position } from "./cursor.ts";
import { addLink } from "./respond.ts";
import { oneOf, parameterRule, parsed } from "./validation.ts";

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
/** Precedes the first id in each order: ids count from 1, and a restore leaves half of them above (ops/backup/next-ids.ts). */
const START: { [sort in Sort]: Int64 } = { id: "0" as Int64, "-id": "9223372036854775807" as Int64 };
const CURSOR_RULE = "one that this service handed out in a Link header, with the same sort";

/** The maximum number of items in a response. */
export const limitField = () =>
  z.optional(parsed<string, number>(toLimit, parameterRule(`an integer from 1 to ${MAX_LIMIT}, in decimal digits`)));

/** The limit of a query, which it may omit. Links to the next page omit it too. */
export const limitOf = (limit = DEFAULT_LIMIT): number => limit;

/** The parameters of every list. A repeated one arrives as an array and breaks its rule. */
export const pageFields = () => ({
  limit: limitField(),
  cursor: z.optional(
    parsed<string, Position>(
      (value) => (typeof value === "string" ? decodeCursor(value) : undefined),
      parameterRule(CURSOR_RULE),
    ),
  ),
  sort: z.optional(oneOf(SORTS, parameterRule)),
  include: z.optional(z.enum(["version"], parameterRule("version"))),
});

function toLimit(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d+$/.test(value)) return undefined;
  const limit = Number(value);
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined;
}

/** The query of a list, with `pageFields`. */
export type PageSchema = z.ZodMiniObject<ReturnType<typeof pageFields>>;
export type PageQuery = z.output<PageSchema>;

/** The validated query of a list. A parameter that may be repeated is an array. */
export interface Query extends Partial<PageQuery> {
  [filter: string]: string | number | string[] | Position | undefined;
}

/**
 * The bounds of the query for a page. It asks for one row more than the page, which tells whether there is a next page.
 *
 * @throws ApiError `invalid_request` when the cursor belongs to another order.
 */
export function pageBounds({ limit, cursor, sort = "id" }: PageQuery): Bounds {
  if (cursor !== undefined && cursor.sort !== sort)
    throw new ApiError("invalid_request", `cursor has to be ${CURSOR_RULE}.`);
  return { after: cursor?.after ?? START[sort], limit: limitOf(limit) + 1 };
}

/** What a read found: all that its response needs, and nothing that belongs to one request. */
export interface Found<Body> {
  readonly body: Json<Body>;
  /** Of a single resource. */
  readonly version?: number;
  /** The cursor of the next page, if there is one. */
  readonly next?: string | undefined;
}

/** An item of a list. */
export type Listed<Item> = Item & { version?: number };

/**
 * A page, as its response shows it.
 *
 * @param rows the rows within `pageBounds`.
 * @param examined the last row that was read to find them, if the list may go on after it.
 */
export function toPage<Item>(
  { limit: asked, sort = "id", include }: PageQuery,
  rows: Stored<Item>[],
  examined?: Stored<Item>,
): Found<Listed<Item>[]> {
  const limit = limitOf(asked);
  const last = rows.length > limit ? rows[limit - 1] : examined;
  rows.length = Math.min(rows.length, limit);
  const items = rows.map((row) => (include === undefined ? row.body : withVersion(row)));
  return {
    body: `[${items.join()}]` as Json<Listed<Item>[]>,
    next: last && encodeCursor({ after: last.id, sort }),
  };
}

/** Adds the address of the next page (RFC 8288), which keeps the whole query. */
export function addNextPage(c: Context<AppEnv>, query: Query, cursor: string): void {
  addLink(c, `<${nextPage(c, { ...query, cursor: undefined }, cursor)}>; rel="next"`);
}

/**
 * Scheme and host of a URL. An invalid Host header, which workerd accepts, does not match.
 */
export const ORIGIN = /^https?:\/\/[\w.:[\]-]+(?=\/)/;

interface Parameters {
  [name: string]: string | number | string[] | undefined;
}

/** Concatenates strings: a URL object takes 1.9 µs of CPU, and this 0.1. */
function nextPage(c: Context<AppEnv>, filters: Parameters, cursor: string): string {
  // The path as the router read it, so that every spelling of a path gets the same link.
  const path = routePath(c).replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(c.req.param(name) ?? ""));
  let parameters = "";
  for (const [name, value = []] of Object.entries(filters)) {
    for (const item of Array.isArray(value) ? value : [value]) parameters += `${name}=${encodeURIComponent(item)}&`;
  }
  return `${ORIGIN.exec(c.req.url)?.[0] ?? ""}${path}?${parameters}cursor=${cursor}`;
}
