// The response headers that the document names.
import type { HeaderObject, HeadersObject, SchemaObject } from "openapi3-ts/oas31";
import { ERRORS } from "../src/errors.ts";
import { type Deprecation, deprecationHeaders } from "../src/http/deprecation.ts";
import { JSON_BODY, MERGE_PATCH } from "../src/http/body.ts";
import { MAX_NAME_BYTES, MAX_NAMES } from "../src/http/ignored-fields.ts";
import { BOOKMARK } from "../src/http/open-session.ts";
import { MAX_URL_LENGTH } from "../src/http/query.ts";

const retryAfter = Object.values(ERRORS).flatMap((rule) => ("retryAfter" in rule ? [rule.retryAfter] : []));

/** The address of the next page is that of the request plus a cursor. No parameter becomes longer. */
const MAX_LINK_LENGTH = MAX_URL_LENGTH + '<&cursor=AAAAAAAAAAKLLL5F>; rel="next"'.length;

/** Each name in quotes, with a percent sign and a comma. */
const MAX_IGNORED_LENGTH = MAX_NAMES * (MAX_NAME_BYTES + '%"", '.length);

export const headers = {
  "X-Request-Id": header("Identifies this request, also in the service's log.", {
    type: "string",
    format: "uuid",
    maxLength: 36,
  }),
  "x-d1-bookmark": header(
    "The state of the database. Send it in a later request to see at least what this response saw or wrote.",
    { type: "string", pattern: BOOKMARK.source, maxLength: 59 },
    false,
  ),
  "Access-Control-Allow-Origin": header(
    "Sent when the request has an `Origin`. Any origin may call the service. It uses no cookies.",
    { type: "string", const: "*" },
    false,
  ),
  "Cache-Control": header("Responses to requests with a key must not be stored.", {
    type: "string",
    const: "private, no-store",
  }),
  "WWW-Authenticate": header("The authentication scheme and the error (RFC 6750).", {
    type: "string",
    pattern: "^Bearer realm=",
    maxLength: 200,
  }),
  "Accept-Encoding": header(
    "Sent when the body had a `Content-Encoding`. The service accepts none (RFC 9110).",
    { type: "string", const: "identity" },
    false,
  ),
  Accept: mediaTypes("the request body (RFC 9110)"),
  "Accept-Patch": mediaTypes("a patch (RFC 5789)"),
  "Accept-Post": mediaTypes("a `POST` (Linked Data Platform 1.0)"),
  "Retry-After": header("Seconds to wait before a retry.", {
    type: "integer",
    format: "int32",
    minimum: 1,
    maximum: Math.max(...retryAfter),
  }),
  "Idempotency-Replayed": header(
    "Sent when an earlier request with this Idempotency-Key made the change. The response is the one to that request.",
    { type: "string", const: "true" },
    false,
  ),
  "Ignored-Fields": header(
    "The names in the body that the operation does not know: it has ignored their values. A list of Strings, and of Display Strings for names beyond ASCII (RFC 9651): 20 names at most, each cut after 100 bytes.",
    { type: "string", pattern: '^%?"', maxLength: MAX_IGNORED_LENGTH },
    false,
  ),
  ETag: header(
    "The version of the resource, in quotes. It increases with each change. Send it as `If-Match`, with or without the `W/` that Cloudflare's edge adds when it compresses.",
    { type: "string", pattern: '^(W[/])?"[1-9][0-9]{0,14}"$', maxLength: 19 },
  ),
  Age: header(
    "Seconds since the service asked the database, or counted the animals. In every inventory, and else only in a response from memory (RFC 9111, section 5.1).",
    { type: "integer", format: "int32", minimum: 0, maximum: 2 ** 31 - 1 },
    false,
  ),
  Link: header(
    'The next page: `<URL>; rel="next"`, with an opaque `cursor`. Follow it unchanged. The last page has no such header.',
    { type: "string", pattern: '^<[^>]+>; rel="next"$', maxLength: MAX_LINK_LENGTH },
    false,
  ),
} satisfies { [name: string]: HeaderObject };

export type HeaderName = keyof typeof headers;

function mediaTypes(of: string): HeaderObject {
  const lists = [MERGE_PATCH, JSON_BODY].map(({ names }) => names.join(", "));
  return header(
    `Sent when the media type is not supported. Lists the media types of ${of}.`,
    { type: "string", enum: lists },
    false,
  );
}

function header(description: string, schema: SchemaObject, required = true): HeaderObject {
  return { description, required, schema };
}

/** The headers of a response: those of every response, and these. */
export function headersOf(names: readonly HeaderName[]): HeadersObject {
  const all: HeaderName[] = ["X-Request-Id", "Access-Control-Allow-Origin", "Cache-Control", ...names];
  return Object.fromEntries(all.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}

/** Headers of single operations. The document lists them after the shared ones. */
export const ownHeaders: { [name: string]: HeaderObject } = {};

/** Turns the headers of an operation into components: tools expect an inline header in every example. */
export function named(operationId: string, inline: { [name: string]: HeaderObject }): HeadersObject {
  return Object.fromEntries(
    Object.entries(inline).map(([name, item]) => {
      const component = `${operationId}.${name}`;
      ownHeaders[component] = item;
      return [name, { $ref: `#/components/headers/${component}` }];
    }),
  );
}

export function locationHeader(path: string): { [name: string]: HeaderObject } {
  const pattern = `^[/]v1${path.replaceAll("/", "[/]")}[/][0-9]+$`;
  return { Location: header("The path of the new resource.", { type: "string", pattern, maxLength: 40 }) };
}

/** The headers of every response of a deprecated operation. */
export function announcement(deprecation: Deprecation): { [name: string]: HeaderObject } {
  const { Deprecation, Sunset, Link } = deprecationHeaders(deprecation);
  const exactly = (description: string, value: string) => header(description, { type: "string", const: value });
  return {
    Deprecation: exactly("When the operation was deprecated (RFC 9745).", Deprecation),
    Sunset: exactly("When the operation will be removed (RFC 8594).", Sunset),
    Link: header("The replacement of the operation, and the explanation of its deprecation (RFC 8288).", {
      type: "string",
      pattern: 'rel="successor-version"',
      maxLength: 200,
      examples: [Link],
    }),
  };
}

/** `Retry-After` of a 503, which a change without `Idempotency-Key` lacks when it may have happened. */
export const unlessUnknown = named("unlessUnknown", {
  "Retry-After": {
    ...headers["Retry-After"],
    description:
      "Seconds to wait before a retry. Absent when the change may have happened and had no `Idempotency-Key`: look at the present state first.",
    required: false,
    schema: {
      type: "integer",
      format: "int32",
      minimum: ERRORS.service_unavailable.retryAfter,
      maximum: ERRORS.service_unavailable.retryAfter,
    },
  },
});
