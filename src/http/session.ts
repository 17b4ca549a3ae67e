import type { Context } from "hono";
import { apiKeyOf } from "./authentication.ts";
import { Session } from "../db/session.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

const BOOKMARK_HEADER = "x-d1-bookmark";

/** The form of a D1 bookmark: four groups of hexadecimal digits. D1's local simulation would take any text. */
export const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/**
 * Opens the D1 session of the request. A caller that sends the `x-d1-bookmark` of an earlier response sees at least what that
 * response saw or wrote, from any replica; without the header a read takes the nearest. With `READS = "primary"` every read goes to the
 * primary.
 *
 * @throws ApiError `invalid_request` when the header holds no bookmark.
 */
export function openSession(c: Context<AppEnv>): Session {
  // A route without a guard must not reach the data.
  apiKeyOf(c);
  const bookmark = c.req.header(BOOKMARK_HEADER);
  if (bookmark !== undefined) {
    if (!BOOKMARK.test(bookmark)) {
      throw new ApiError("invalid_request", `${BOOKMARK_HEADER} has to be a value that this service returned.`);
    }
    c.get("log").bookmark = true;
  }
  const reads: string | undefined = c.env.READS;
  // The primary has seen every bookmark.
  const session = new Session(c.env.DB, reads === "primary" ? "first-primary" : bookmark);
  c.set("database", session.usage);
  return session;
}
