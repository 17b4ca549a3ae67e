import type { Context } from "hono";
import { apiKeyOf } from "./authentication.ts";
import { Session } from "../db/session.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

const BOOKMARK_HEADER = "x-d1-bookmark";

/** The form of a D1 bookmark: four groups of hexadecimal digits. D1 in workerd 1.20261023.1 accepts any text. */
export const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/**
 * The bookmark that a request carries, if any.
 *
 * @throws ApiError `invalid_request` when the header is not a bookmark.
 */
export function sentBookmark(c: Context<AppEnv>): string | undefined {
  const bookmark = c.req.header(BOOKMARK_HEADER);
  if (bookmark === undefined) return undefined;
  if (!BOOKMARK.test(bookmark)) {
    throw new ApiError("invalid_request", `${BOOKMARK_HEADER} has to be a value that this service returned.`);
  }
  c.get("log").bookmark = true;
  return bookmark;
}

/**
 * Opens the D1 session of the request. With the `x-d1-bookmark` of an earlier response, any replica returns at least what that
 * response saw or wrote. Without the header, a read uses the nearest replica. With `READS = "primary"`, every read uses the primary.
 *
 * @throws ApiError `invalid_request` when the header is not a bookmark.
 */
export function openSession(c: Context<AppEnv>): Session {
  return openSessionAt(c, sentBookmark(c));
}

/** The same for a bookmark that was read already, or for a read that may ignore it. */
export function openSessionAt(c: Context<AppEnv>, bookmark: string | undefined): Session {
  // Throws for a route without a guard, which must not reach the data.
  apiKeyOf(c);
  const reads: string | undefined = c.env.READS;
  // The primary has seen every bookmark.
  const session = new Session(c.env.DB, reads === "primary" ? "first-primary" : bookmark);
  c.set("database", session.usage);
  return session;
}
