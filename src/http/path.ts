import { getPath } from "hono/utils/url";
import type { ApiError } from "../errors.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";

/** Characters of a path that are looked at, many times as many as the longest path of the interface has. */
const MAX_PATH_LENGTH = 1_000;

/**
 * The decoded path of a request, as Hono's router wants it. Hono decodes each `%` sequence that is malformed by itself, which is
 * expensive before a key was checked, so the rest of a long path is cut off. A cut path leads nowhere that the whole one would not.
 */
export function boundedPath(request: Request): string {
  const { url } = request;
  // Of `https://host/path`.
  const start = url.indexOf("/", url.indexOf("//") + 2);
  return getPath(url.length <= start + MAX_PATH_LENGTH ? request : new Request(url.slice(0, start + MAX_PATH_LENGTH)));
}

/**
 * The id in a path. A text that is not the canonical decimal form of an int64 names nothing.
 *
 * @throws ApiError that `notFound` makes.
 */
export function idInPath(text: string, notFound: () => ApiError): Int64 {
  if (!isInt64(text)) throw notFound();
  return text;
}
