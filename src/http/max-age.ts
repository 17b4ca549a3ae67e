import type { Context } from "hono";
import type { AppEnv } from "../env.ts";

/** Seconds that a read from memory may be old, whatever a request or the operator allows. */
export const MAX_READ_AGE = 60;
/** Maximum number of characters of a `Cache-Control` header. A longer one is ignored. */
export const MAX_CACHE_CONTROL_LENGTH = 256;
/** A directive, whose value may be a quoted string with commas. Takes linear time. */
const DIRECTIVE = /(?:[^,"]|"[^"]*"?)+/g;
const MAX_AGE = /^max-age=(?:(\d+)|"(\d+)")$/;
const SECONDS = /^\d+$/;

/**
 * Seconds that the content of a read may be old: what the request allows (RFC 9111, section 5.2.1), or else what the operator does, for
 * a request that asks for no point in time.
 */
export function allowedAge(c: Context<AppEnv>, hasBookmark: boolean): number {
  const header = c.req.header("Cache-Control");
  const requested = header === undefined ? undefined : requestedAge(header);
  if (requested !== undefined) return requested;
  // A mistake in the setting must not make a read old.
  return hasBookmark ? 0 : (parseReadMaxAge(c.env.READ_MAX_AGE) ?? 0);
}

/** What the directives of a request allow, in seconds; undefined when there is none that is known. The strictest one counts. */
export function requestedAge(header: string): number | undefined {
  if (header.length > MAX_CACHE_CONTROL_LENGTH) return undefined;
  const ages = (header.match(DIRECTIVE) ?? []).flatMap((part) => {
    const directive = part.trim().toLowerCase();
    if (directive === "no-cache" || directive === "no-store") return 0;
    const [, token, quoted] = MAX_AGE.exec(directive) ?? [];
    return token ?? quoted ?? [];
  });
  return ages.length === 0 ? undefined : Math.min(MAX_READ_AGE, ...ages.map(Number));
}

/** `READ_MAX_AGE`, in seconds, or undefined for anything but digits up to the maximum. */
export function parseReadMaxAge(setting: unknown): number | undefined {
  return SECONDS.test(String(setting)) && Number(setting) <= MAX_READ_AGE ? Number(setting) : undefined;
}
