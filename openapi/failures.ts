// The failures of the operations, as responses of the document.
import type { HeadersObject, ResponseObject } from "openapi3-ts/oas31";
import { type ErrorCode, ERRORS } from "../src/errors.ts";
import type { Scope } from "../src/auth/scopes.ts";
import type { Facts } from "../src/operation.ts";
import { factsOf, type Operation, ref } from "./describe.ts";
import { type HeaderName, headersOf } from "./headers.ts";

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
  unsupported_media_type: ["Accept-Encoding"],
  service_unavailable: ["Retry-After"],
};

/** @param method in lower case. */
function headersOfFailure(code: ErrorCode, { cacheable }: Partial<Facts>, method: string): HeaderName[] {
  const names = [...(HEADERS[code] ?? [])];
  if (code === "unsupported_media_type" && method === "patch") names.push("Accept-Patch");
  if (code === "precondition_failed" && cacheable) names.push("Age");
  return names;
}

/** The error codes of an operation, in ascending order of status. */
export function codesOf(operation: Operation): ErrorCode[] {
  const { body, errors = [] } = operation;
  const { idempotent, preconditions } = factsOf(operation);
  const needsScope = operation.handlers.some((handler) => (handler as { scope?: Scope }).scope !== undefined);
  const codes = [
    ...OF_EVERY_OPERATION.filter((code) => needsScope || code !== "insufficient_scope"),
    ...(body === undefined ? [] : OF_EVERY_BODY),
    ...(idempotent === undefined ? [] : OF_EVERY_IDEMPOTENCY_KEY),
    ...(preconditions === undefined ? [] : OF_EVERY_PRECONDITION),
    ...errors,
  ];
  return codes.toSorted((a, b) => ERRORS[a].status - ERRORS[b].status);
}

/**
 * The responses to failures, by status. Codes that share a status share a response.
 *
 * @param more the headers of every response of the operation.
 */
export function failures(
  operation: Operation,
  method: string,
  more: HeadersObject,
): { [status: string]: ResponseObject } {
  const byStatus = Object.groupBy(codesOf(operation), (code) => ERRORS[code].status);
  return Object.fromEntries(
    Object.entries(byStatus).map(([status, codes = []]) => {
      // The failures of the operation itself follow a database query, so their responses have a bookmark.
      const own = codes.some((code) =>
        [...(operation.errors ?? []), ...OF_EVERY_IDEMPOTENCY_KEY, ...OF_EVERY_PRECONDITION].includes(code),
      );
      const names = [...new Set(codes.flatMap((code) => headersOfFailure(code, factsOf(operation), method)))];
      return [
        status,
        {
          description: codes.map((code) => `\`${code}\`: ${ERRORS[code].when}`).join(" "),
          headers: { ...headersOf([...names, ...(own ? (["x-d1-bookmark"] as const) : [])]), ...more },
          content: {
            "application/json": {
              schema: ref("Error"),
              examples: Object.fromEntries(
                codes.map((code) => [code, { value: { code, message: ERRORS[code].when, status: Number(status) } }]),
              ),
            },
          },
        },
      ];
    }),
  );
}
