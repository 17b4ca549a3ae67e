import { MAX_BYTES } from "./attempt.ts";
import type { Call } from "./connection.ts";
import { PetStoreError } from "./error.ts";
import { parseExact } from "./json.ts";

/** As many as the message of an error has at most. */
const MAX_SHOWN_CHARACTERS = 2_000;

/** A successful response. `value` is its JSON, or undefined without content. */
export interface Answer {
  value: unknown;
  headers: Headers;
  status: number;
  requestId: string | undefined;
}

/**
 * @param text of the response, or undefined when it is too large.
 * @param apiKey that no error may show, whatever the response says.
 * @throws PetStoreError unless this is the successful response that the call expects.
 */
export function readAnswer(
  { expects, headers: sent }: Call,
  { ok, status, headers }: Response,
  text: string | undefined,
  apiKey: string,
): Answer {
  const { value, cut } = parse(text);
  const shown = (words: string): string => words.replaceAll(apiKey, "[API key]").slice(0, MAX_SHOWN_CHARACTERS);
  const details = {
    status,
    requestId: shown(headers.get("X-Request-Id") ?? "") || undefined,
    retryAfter: retryAfterOf(headers.get("Retry-After") ?? ""),
  };
  if (expects === undefined ? status === 204 : ok && expects(value, headers)) return { value, headers, ...details };
  if (status === 304 && sent?.["If-None-Match"]) return { value: undefined, headers, ...details };
  if (isErrorBody(value, status)) throw new PetStoreError(shown(value.code), shown(value.message), details);
  if (cut && headers.get("Content-Type")?.startsWith("application/json")) {
    // A failure that was cut may be any, and is asked for again.
    const code = ok ? "unexpected_response" : "network";
    throw new PetStoreError(code, "The response of the service is not complete.", details);
  }
  const fault = text === undefined ? `has more than ${MAX_BYTES} bytes` : "does not come from the service";
  throw new PetStoreError("unexpected_response", `A response with status ${status} ${fault}.`, details);
}

/** The length of the longest header that the service writes. */
const MAX_HEADER = 4_096;

/** The names in `Ignored-Fields`: Strings and Display Strings (RFC 9651). */
export function warningsOf(headers: Headers): string[] {
  const header = (headers.get("Ignored-Fields") ?? "").slice(0, MAX_HEADER);
  return Array.from(header.matchAll(/%"([^"]*)"|"((?:\\.|[^"\\])*)"/g), ([, display, plain = ""]) => {
    try {
      return display === undefined ? plain.replaceAll(/\\(.)/g, "$1") : decodeURIComponent(display);
    } catch {
      return display ?? plain;
    }
  });
}

/** The JSON, or undefined when there is none in an exact form. JSON that does not end was cut off. */
export function parse(text: string | undefined): { value?: unknown; cut?: boolean } {
  try {
    return text === undefined ? {} : { value: parseExact(text) };
  } catch (error) {
    return { cut: error instanceof SyntaxError };
  }
}

function isErrorBody(value: unknown, status: number): value is { code: string; message: string } {
  const body = value as { code?: unknown; message?: unknown; status?: unknown } | null | undefined;
  return typeof body?.code === "string" && typeof body.message === "string" && body.status === status;
}

/** The seconds in `Retry-After`: a number of them, or a date in the form that senders have to write (RFC 9110, section 5.6.7). */
function retryAfterOf(value: string): number | undefined {
  const date = new Date(value);
  const isDate = date.toUTCString() === value;
  const seconds = /^\d+$/.test(value) ? Number(value) : isDate ? (Number(date) - Date.now()) / 1000 : NaN;
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds);
}
