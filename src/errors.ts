interface ErrorRule {
  status: number;
  /** Seconds after which a client may try again (RFC 9110, section 10.2.3). */
  retryAfter?: number;
}

/**
 * Every error that the API can return. The list is published and may grow. A code always has the same status. `openapi/errors.ts` says when
 * the API returns each: no request needs that text.
 */
export const ERRORS = {
  invalid_request: { status: 400 },
  unauthorized: { status: 401 },
  insufficient_scope: { status: 403 },
  origin_not_allowed: { status: 403 },
  not_found: { status: 404 },
  method_not_allowed: { status: 405 },
  request_timeout: { status: 408 },
  category_exists: { status: 409 },
  category_in_use: { status: 409 },
  external_id_taken: { status: 409 },
  pet_on_order: { status: 409 },
  pet_not_available: { status: 409 },
  order_shipped: { status: 409 },
  order_cancelled: { status: 409 },
  order_limit: { status: 409 },
  webhook_limit: { status: 409 },
  webhook_disabled: { status: 409 },
  replay_running: { status: 409 },
  cursor_expired: { status: 410 },
  precondition_failed: { status: 412 },
  payload_too_large: { status: 413 },
  unsupported_media_type: { status: 415 },
  idempotency_key_reused: { status: 422 },
  // The window of the rate limiter in wrangler.toml.
  rate_limited: { status: 429, retryAfter: 60 },
  internal_error: { status: 500 },
  service_unavailable: { status: 503, retryAfter: 5 },
} as const satisfies { [code: string]: ErrorRule };

export type ErrorCode = keyof typeof ERRORS;

/** The body of every failure: three fields, flat, `status` equal to the HTTP status. */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
  status: number;
}

/**
 * A failure as the client sees it. `message` is public: it contains no SQL and no stack, and of the input of the caller only short
 * names of query parameters. The cause is logged and never sent.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: ErrorCode;
  /** Seconds after which a client may try again. Those of the code, unless given. */
  readonly retryAfter: number | undefined;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; retryAfter?: number | undefined } = {}) {
    super(message, options);
    this.code = code;
    const rule: ErrorRule = ERRORS[code];
    this.retryAfter = "retryAfter" in options ? options.retryAfter : rule.retryAfter;
  }
}

/** KV, D1 or the rate limiter cannot respond. */
export function serviceUnavailable(cause: unknown): ApiError {
  return new ApiError("service_unavailable", "The service cannot respond right now. Try again later.", { cause });
}

/**
 * Nobody knows whether a change has happened, and a second run would change something. Some libraries repeat what has a `Retry-After` (docs/languages.md),
 * so the response has none.
 */
export function outcomeUnknown(cause: unknown): ApiError {
  const message =
    "The outcome is unknown: this change may have happened. Look at the present state before you send it again.";
  return new ApiError("service_unavailable", message, { cause, retryAfter: undefined });
}

/**
 * Turns a thrown value into the failure that the client sees. Anything but an ApiError is a bug, and its details stay in the log.
 */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError("internal_error", "Something went wrong inside the service.", { cause: thrown });
}
