import type { Context } from "hono";
import { routePath } from "hono/route";
import * as z from "zod/mini";
import type { Bounds } from "../db/page.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { decodeCursor, encodeCursor } from "./cursor.ts";
import { addLink, json } from "./respond.ts";
import { parsed, rule } from "./validation.ts";

export const DEFAULT_LIMIT = 20;
export const MAX_LIMIT = 100;
/** Precedes the first id: AUTOINCREMENT counts from 1. */
const START = "0" as Int64;

/** The two parameters of every list. A repeated one arrives as an array and breaks its rule. */
export const pageFields = () => ({
  limit: z.optional(parsed<string, number>(toLimit, rule(`an integer from 1 to ${MAX_LIMIT}, in decimal digits`))),
  cursor: z.optional(
    parsed<string, Int64>(
      (value) => (typeof value === "string" ? decodeCursor(value) : undefined),
      rule("one that this service handed out in a Link header"),
    ),
  ),
});

function toLimit(value: unknown): number | undefined {
  if (typeof value !== "string" || !/^\d+$/.test(value)) return undefined;
  const limit = Number(value);
  return limit >= 1 && limit <= MAX_LIMIT ? limit : undefined;
}

/** The validated parameters of a list. A parameter that may be repeated is an array. */
interface Filters {
  [parameter: string]: string | number | string[] | undefined;
}

interface PageQuery {
  limit?: number | undefined;
  cursor?: Int64 | undefined;
}

/** The bounds of the query for a page. It asks for one row more than the page, which tells whether there is a next page. */
export function pageBounds({ limit = DEFAULT_LIMIT, cursor = START }: PageQuery): Bounds {
  return { after: cursor, limit: limit + 1 };
}

/**
 * Responds with a page. The `Link` header (RFC 8288) holds the address of the next page, if there is one.
 *
 * @param query the validated query of the list. The link keeps all of it.
 * @param rows the rows within `pageBounds`.
 */
export function respondWithPage<Row extends { id: Int64 }, Item>(
  c: Context<AppEnv>,
  query: PageQuery & Filters,
  rows: Row[],
  toItem: (row: Row) => Item,
) {
  const { limit = DEFAULT_LIMIT } = query;
  const last = rows.length > limit ? rows[limit - 1] : undefined;
  if (last !== undefined) {
    rows.length = limit;
    addLink(c, `<${nextPage(c, { ...query, cursor: encodeCursor(last.id) })}>; rel="next"`);
  }
  return json(c, rows.map(toItem), 200);
}

/**
 * Scheme and host of a URL. An invalid Host header does not match. Only workerd without Cloudflare in front accepts such a
 * header.
 */
const ORIGIN = /^https?:\/\/[\w.:[\]-]+(?=\/)/;

/** Concatenates strings, because a URL object costs a tenth of the CPU time of a list. */
function nextPage(c: Context<AppEnv>, { cursor, ...rest }: Filters): string {
  // The path as the router read it, so that every spelling of a path gets the same link.
  const path = routePath(c).replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(c.req.param(name) ?? ""));
  const parameters = Object.entries({ ...rest, cursor }).flatMap(([name, value]) =>
    [value ?? []].flat().map((item) => `${name}=${encodeURIComponent(item)}`),
  );
  return `${ORIGIN.exec(c.req.url)?.[0] ?? ""}${path}?${parameters.join("&")}`;
}
