import type { Context } from "hono";
import { getPath } from "hono/utils/url";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";

/** Maximum number of characters of a path that are read, many times the length of the longest path of the interface. */
const MAX_PATH_LENGTH = 1_000;

/**
 * The decoded path of a request, in the form that Hono's router needs. Hono decodes every malformed `%` sequence separately,
 * which is expensive for callers without a key, so a long path is truncated. A truncated path may match a route
 * that the whole path does not match, but no animal, category or order has such a long id.
 */
export function boundedPath(request: Request): string {
  const { url } = request;
  // The URL has the form `https://host/path`.
  const start = url.indexOf("/", url.indexOf("//") + 2);
  const end = start + MAX_PATH_LENGTH;
  // Not a Request, which would make a new text of its URL, and refuse that of a request with a malformed `Host`. Hono reads only the URL.
  // The cut may divide a character that came unescaped, and encodeURI would throw at its half.
  return getPath({ url: url.length <= end ? url : url.slice(0, end).toWellFormed() } as Request);
}

/**
 * How the paths of a resource name one of it.
 *
 * @param parameter of the path. Any text but the canonical decimal form of an int64 names nothing.
 * @returns a function that reads the id in a path, and throws ApiError `not_found`, and one that makes this failure.
 */
export function idIn<Parameter extends string>(parameter: Parameter, resource: string) {
  const missing = () => new ApiError("not_found", `There is no ${resource} with this id.`);
  const read = (c: Context<AppEnv, `/:${Parameter}`>): Int64 => {
    const text = (c as Context<AppEnv>).req.param(parameter) ?? "";
    if (!isInt64(text)) throw missing();
    return text;
  };
  return [read, missing] as const;
}
