import type { Context } from "hono";
import { Session } from "../db/session.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

const BOOKMARK_HEADER = "x-d1-bookmark";

/** The form of a D1 bookmark: four groups of hexadecimal digits. D1's local simulation would take any text. */
export const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/**
 * The request's D1 session. A caller that echoes the `x-d1-bookmark` of an earlier answer sees at least what that answer saw
 * or wrote, from any replica; without the header a read takes the nearest.
 *
 * @throws ApiError `invalid_request` when the header holds no bookmark.
 */
export function openSession(c: Context<AppEnv>): Session {
  // A route that forgot to authorize must not reach the data.
  if (c.get("apiKey") === undefined) throw new Error("No API key was checked for this request");
  const bookmark = c.req.header(BOOKMARK_HEADER);
  if (bookmark !== undefined && !BOOKMARK.test(bookmark)) {
    throw new ApiError("invalid_request", `${BOOKMARK_HEADER} has to be a value that this service returned.`);
  }
  const log = c.get("log");
  if (bookmark !== undefined) log.bookmark = true;
  return new Session(c.env.DB, bookmark, (usage) => {
    log.d1Duration = usage.duration;
    log.d1RowsRead = usage.rowsRead;
    log.d1RowsWritten = usage.rowsWritten;
    if (usage.bookmark !== undefined) c.get("headers")[BOOKMARK_HEADER] = usage.bookmark;
  });
}
