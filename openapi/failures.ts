// The failures of the operations, as responses of the document.
import type { HeadersObject, ResponseObject } from "openapi3-ts/oas31";
import { WHEN } from "./errors.ts";
import { type ErrorCode, ERRORS, outcomeUnknown, serviceUnavailable, toApiError } from "../src/errors.ts";
import { MAX_BODY_BYTES } from "../src/http/body.ts";
import { MAX_LIMIT } from "../src/http/paging.ts";
import { KEY_REUSED } from "../src/idempotency/entry.ts";
import { type Operation, ref } from "./describe.ts";
import { type HeaderName, headersOf, unlessUnknown } from "./headers.ts";
import type { Mounted } from "./operation.ts";

/** The failures that every operation has. A wrong method is not among them, because it matches no operation. */
const OF_EVERY_OPERATION: ErrorCode[] = [
  "invalid_request",
  "unauthorized",
  "insufficient_scope",
  "rate_limited",
  "internal_error",
  "service_unavailable",
];
const OF_EVERY_BODY: ErrorCode[] = ["request_timeout", "payload_too_large", "unsupported_media_type"];
const OF_EVERY_IDEMPOTENCY_KEY: ErrorCode[] = ["idempotency_key_reused"];
const OF_EVERY_PRECONDITION: ErrorCode[] = ["precondition_failed"];

const HEADERS: { [code in ErrorCode]?: HeaderName[] } = {
  unauthorized: ["WWW-Authenticate"],
  insufficient_scope: ["WWW-Authenticate"],
  rate_limited: ["Retry-After"],
  internal_error: ["x-d1-bookmark"],
  unsupported_media_type: ["Accept", "Accept-Encoding"],
  service_unavailable: ["Retry-After"],
};

/** Whether a 503 may leave it unknown what has happened, and a second request would change something. */
const mayBeUnknown = ({ method, path, facts }: Mounted): boolean =>
  // What was deleted by its id stays deleted.
  (method === "post" || method === "patch" || (method === "delete" && !path.endsWith("}"))) &&
  facts.withoutDatabase === undefined;

function headersOfFailure(code: ErrorCode, { method, facts: { cacheable } }: Mounted): HeaderName[] {
  const names = [...(HEADERS[code] ?? [])];
  if (code === "unsupported_media_type") names.push(method === "patch" ? "Accept-Patch" : "Accept-Post");
  if (code === "precondition_failed" && cacheable) names.push("Age");
  return names;
}

/** What a body without its required fields, or a wrong one, gets in operations that say nothing else. */
const BAD_LIMIT = `limit has to be an integer from 1 to ${MAX_LIMIT}, in decimal digits.`;
const RATE_LIMITED = "Too many requests with this API key. Slow down.";
const STORED_TOO_MUCH = "The changes of this API key or customer have stored too much. Slow down.";
const TOKENS_RATE_LIMITED = [
  "Too many requests of this customer. Slow down.",
  "Too many requests with the tokens of this API key. Slow down.",
];
const NO_PARAMETERS = "dryRun is unknown. This operation takes no query parameters.";

/** The messages of a code in the responses of an operation. test/support/comparison.ts compares them with those of every tested response. */
function messagesOf(code: ErrorCode, { errors = {}, parameters = {} }: Operation, route: Mounted): string[] {
  const { handlers, facts } = route;
  const own = errors[code];
  const more = own === undefined ? [] : [own];
  // The limits of the key come before one of the operation.
  if (code === "rate_limited") {
    const takesTokens = handlers.some(({ customers }) => customers !== undefined);
    return [
      RATE_LIMITED,
      ...(takesTokens ? TOKENS_RATE_LIMITED : []),
      ...(facts.budgeted ? [STORED_TOO_MUCH] : []),
      ...more,
    ];
  }
  if (own !== undefined && code !== "service_unavailable") return more;
  const mediaTypes = handlers.flatMap((handler) => handler.mediaTypes ?? []);
  switch (code) {
    case "invalid_request":
      return ["limit" in parameters ? BAD_LIMIT : NO_PARAMETERS];
    case "unauthorized":
      return ["Send an API key in the header `Authorization: Bearer <API_KEY>`.", "The API key is not valid."];
    case "insufficient_scope":
      return [`This API key lacks the scope ${handlers.find(({ scope }) => scope !== undefined)?.scope}.`];
    case "unsupported_media_type":
      return [
        `The request body has to be ${mediaTypes.join(" or ")}.`,
        "The request body has to be sent without a Content-Encoding.",
      ];
    case "payload_too_large":
      return [`The request body is larger than ${MAX_BODY_BYTES} bytes.`];
    case "precondition_failed":
      return ["The present version does not meet If-Match or If-None-Match."];
    case "idempotency_key_reused":
      return [KEY_REUSED];
    case "internal_error":
      return [toApiError(undefined).message];
    case "service_unavailable":
      return [
        ...[serviceUnavailable, ...(mayBeUnknown(route) ? [outcomeUnknown] : [])].map((of) => of(undefined).message),
        ...more,
      ];
    default:
      return [WHEN[code]];
  }
}

/** When an operation returns a code: its own message, without the place in a batch, or the condition of the code. */
function conditionOf(code: ErrorCode, operation: Operation, { facts }: Mounted): string {
  if (code === "invalid_request") return WHEN[code];
  if (code === "precondition_failed" && facts.preconditions !== undefined)
    return "The present version does not meet `If-Match` or `If-None-Match`.";
  const own = operation.errors?.[code]?.replace(/^\d+: /, "");
  if (code === "service_unavailable" && own !== undefined) return `${WHEN[code]} Or: ${own}`;
  if (code !== "rate_limited") return own ?? WHEN[code];
  const when = facts.budgeted ? WHEN[code] : WHEN[code].replace(", or their changes have stored too much", "");
  return own === undefined ? when : `${when} ${own}`;
}

/** The error codes of an operation, in ascending order of status. */
function codesOf({ body, errors = {} }: Operation, { handlers, facts }: Mounted): ErrorCode[] {
  const { idempotent, preconditions } = facts;
  const needsScope = handlers.some(({ scope }) => scope !== undefined);
  const codes = [
    ...OF_EVERY_OPERATION.filter((code) => needsScope || code !== "insufficient_scope"),
    ...(body === undefined ? [] : OF_EVERY_BODY),
    ...(idempotent === undefined ? [] : OF_EVERY_IDEMPOTENCY_KEY),
    ...(preconditions === undefined ? [] : OF_EVERY_PRECONDITION),
    ...(Object.keys(errors) as ErrorCode[]),
  ];
  return [...new Set(codes)].toSorted((a, b) => ERRORS[a].status - ERRORS[b].status);
}

/**
 * The responses to failures, by status. Codes that share a status share a response.
 *
 * @param more the headers of every response of the operation.
 */
export function failures(
  operation: Operation,
  route: Mounted,
  more: HeadersObject,
): { [status: string]: ResponseObject } {
  const byStatus = Object.groupBy(codesOf(operation, route), (code) => ERRORS[code].status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes = []]) => {
      // The failures of the operation itself follow a database query, so their responses have a bookmark.
      const own = codes.some((code) =>
        [
          ...Object.keys(operation.errors ?? {}).filter((one) => one !== "invalid_request"),
          ...OF_EVERY_IDEMPOTENCY_KEY,
          ...OF_EVERY_PRECONDITION,
        ].includes(code),
      );
      const names = [...new Set(codes.flatMap((code) => headersOfFailure(code, route)))];
      return [
        status,
        {
          description: codes.map((code) => `\`${code}\`: ${conditionOf(code, operation, route)}`).join(" "),
          headers: {
            ...headersOf([...names, ...(own ? (["x-d1-bookmark"] as const) : [])]),
            ...(codes.includes("service_unavailable") && mayBeUnknown(route) ? unlessUnknown : {}),
            ...more,
          },
          content: {
            "application/json": {
              schema: ref("Error"),
              examples: Object.fromEntries(
                codes.flatMap((code) =>
                  messagesOf(code, operation, route).map((message, index) => [
                    index === 0 ? code : `${code}_${index + 1}`,
                    { value: { code, message, status: Number(status) } },
                  ]),
                ),
              ),
            },
          },
        },
      ];
    }),
  );
}
