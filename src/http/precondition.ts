import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

/** Maximum number of characters of an `If-Match` header, which names one version or a few. */
export const MAX_IF_MATCH_LENGTH = 1_000;
/** A list of entity tags (RFC 9110, sections 5.6.1, 8.8.3 and 13.1.1): empty elements are allowed. The document publishes it. */
export const ENTITY_TAGS =
  // oxlint-disable-next-line no-control-regex -- `\0` would not compile in Java
  /^[\t ,]*(?:W[/])?"[^\x00-\x20"\x7f]*"[\t ]*(?:,[\t ]*(?:(?:W[/])?"[^\x00-\x20"\x7f]*"[\t ]*)?)*$/;
const OPAQUE_TAG = /"([^"]*)"/g;
/** A JavaScript number holds 15 digits exactly. */
const VERSION = /^[1-9]\d{0,14}$/;

/** Adds the entity tag of a resource: its version, in quotes. */
export function setEntityTag(c: Context<AppEnv>, version: number): void {
  c.get("headers")["ETag"] = `"${version}"`;
}

/**
 * The versions that the `If-Match` header names. Undefined means any version: the header is missing or is `*`.
 *
 * @throws ApiError `invalid_request` when the header is malformed.
 */
export function ifMatch(c: Context<AppEnv>): readonly number[] | undefined {
  const header = c.req.header("If-Match");
  if (header === undefined || header === "*") return undefined;
  const versions = parseIfMatch(header);
  if (versions === undefined) {
    throw new ApiError("invalid_request", "If-Match has to be a list of entity tags, or *.");
  }
  return versions;
}

/**
 * The versions in a list of entity tags, or undefined when it is malformed. A tag in another form matches no version.
 *
 * A leading `W/` is ignored: Cloudflare's edge weakens a tag when it compresses a response, and a weak tag would never match
 * (RFC 9110, section 8.8.3.2). The version is the same in both forms.
 */
export function parseIfMatch(header: string): readonly number[] | undefined {
  if (header.length > MAX_IF_MATCH_LENGTH || !ENTITY_TAGS.test(header)) return undefined;
  return [...header.matchAll(OPAQUE_TAG)].flatMap(([, tag = ""]) => (VERSION.test(tag) ? [Number(tag)] : []));
}

/** The failure of a change whose `If-Match` names another version. */
export function preconditionFailed(): ApiError {
  return new ApiError("precondition_failed", "The resource has changed: If-Match names another version of it.");
}
