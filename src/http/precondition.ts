import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

/** Maximum number of characters of an `If-Match` or `If-None-Match` header, which names one version or a few. */
export const MAX_TAGS_LENGTH = 1_000;
/** A list of entity tags (RFC 9110, sections 5.6.1, 8.8.3 and 13.1.1): empty elements are allowed. The document publishes it. */
export const ENTITY_TAGS =
  // oxlint-disable-next-line no-control-regex -- in Java, `\0` begins an octal number (java.util.regex.Pattern)
  /^[\t ,]*(?:W[/])?\x22[^\x00-\x20\x22\x7f]*\x22[\t ]*(?:,[\t ]*(?:(?:W[/])?\x22[^\x00-\x20\x22\x7f]*\x22[\t ]*)?)*$/;
const OPAQUE_TAG = /"([^"]*)"/g;
/** A JavaScript number holds 15 digits exactly. */
const VERSION = /^[1-9]\d{0,14}$/;

/** The versions in a header, `*` for any version, and undefined without the header. */
export type Tags = readonly number[] | "*" | undefined;

/** The two preconditions of a request for one resource (RFC 9110, section 13.1). */
export interface Preconditions {
  /** Undefined means any version: the header is missing or is `*`. */
  ifMatch: readonly number[] | undefined;
  ifNoneMatch: Tags;
}

/** Adds the entity tag of a resource: its version, in quotes. */
export function setEntityTag(c: Context<AppEnv>, version: number): void {
  c.get("headers")["ETag"] = `"${version}"`;
}

/**
 * The preconditions of a change. The statement of the change decides them (`hasVersion`).
 *
 * @throws ApiError `invalid_request` when a header is malformed.
 */
export function preconditionsOf(c: Context<AppEnv>): Preconditions {
  const ifMatch = tagsOf(c, "If-Match");
  return { ifMatch: ifMatch === "*" ? undefined : ifMatch, ifNoneMatch: tagsOf(c, "If-None-Match") };
}

/**
 * Refuses both preconditions, for an operation that evaluates none: without them, it would change what the client wants to keep.
 *
 * @param advice what to send instead.
 * @throws ApiError `invalid_request`
 */
export function refusePreconditions(c: Context<AppEnv>, advice: string): void {
  if ((c.req.header("If-Match") ?? c.req.header("If-None-Match")) !== undefined)
    throw new ApiError("invalid_request", `If-Match and If-None-Match are for one resource: ${advice}.`);
}

function tagsOf(c: Context<AppEnv>, name: string): Tags {
  const header = c.req.header(name);
  const tags = header === undefined ? undefined : parseTags(header);
  if (header !== undefined && tags === undefined) {
    throw new ApiError("invalid_request", `${name} has to be a list of entity tags, or *.`);
  }
  return tags;
}

/**
 * The versions in a list of entity tags, or undefined when it is malformed. A tag in another form matches no version.
 *
 * A leading `W/` is ignored: Cloudflare weakens the tag of a response that it compresses (cache documentation, Using ETag Headers), and a
 * weak tag would never match (RFC 9110, section 8.8.3.2). The version is the same in both forms.
 */
export function parseTags(header: string): Tags {
  if (header === "*") return "*";
  if (header.length > MAX_TAGS_LENGTH || !ENTITY_TAGS.test(header)) return undefined;
  return [...header.matchAll(OPAQUE_TAG)].flatMap(([, tag = ""]) => (VERSION.test(tag) ? [Number(tag)] : []));
}

const names = (tags: Tags, version: number): boolean => tags === "*" || tags?.includes(version) === true;

/** Whether a resource of this version meets the preconditions. */
export function isMet({ ifMatch, ifNoneMatch }: Preconditions, version: number): boolean {
  return (ifMatch === undefined || names(ifMatch, version)) && !names(ifNoneMatch, version);
}

/** The status of a read of a resource (RFC 9110, section 13.2.2). A malformed precondition is ignored. */
export function statusOfRead(c: Context<AppEnv>, version: number): 200 | 304 | 412 {
  const match = c.req.header("If-Match");
  const tags = match === undefined ? undefined : parseTags(match);
  if (tags !== undefined && !names(tags, version)) return 412;
  const noneMatch = c.req.header("If-None-Match");
  return noneMatch !== undefined && names(parseTags(noneMatch), version) ? 304 : 200;
}

/** The failure of a request whose preconditions the present version does not meet. */
export function preconditionFailed(): ApiError {
  return new ApiError("precondition_failed", "The present version does not meet If-Match or If-None-Match.");
}
