interface ErrorRule {
  status: number;
  /** For the documentation: when the API returns this error. */
  when: string;
  /** Seconds after which a client may try again (RFC 9110, section 10.2.3). */
  retryAfter?: number;
}

/** Every error that the API can return. The list is published and may grow. A code always has the same status. */
export const ERRORS = {
  invalid_request: {
    status: 400,
    when: "The body, the query or a header breaks a rule, or the query has a parameter that the operation does not declare. The message lists every invalid field.",
  },
  unauthorized: { status: 401, when: "The API key is missing or not valid." },
  insufficient_scope: { status: 403, when: "The API key lacks the scope that the operation needs." },
  not_found: { status: 404, when: "The resource or the path does not exist." },
  method_not_allowed: { status: 405, when: "The path does not support the method. `Allow` lists those it supports." },
  request_timeout: { status: 408, when: "The request body was not complete within 10 seconds." },
  category_exists: { status: 409, when: "Another category has this name." },
  category_in_use: { status: 409, when: "An animal names the category." },
  pet_on_order: {
    status: 409,
    when: "A placed order holds the animal whose status is changed, or an order that is not cancelled names the animal that is deleted.",
  },
  pet_not_available: {
    status: 409,
    when: "The animal of the order does not exist, is not available, or was sold by an order.",
  },
  order_shipped: { status: 409, when: "The order to cancel is shipped." },
  order_cancelled: { status: 409, when: "The order to ship is cancelled." },
  webhook_limit: { status: 409, when: "There are 10 webhooks already." },
  webhook_disabled: { status: 409, when: "The webhook is disabled." },
  replay_running: { status: 409, when: "A replay of the webhook runs." },
  cursor_expired: {
    status: 410,
    when: "The feed of events no longer has, or never had, the place that the cursor names.",
  },
  precondition_failed: {
    status: 412,
    when: "The present version does not meet `If-Match` or `If-None-Match`, or is not the `version` that a batch names.",
  },
  payload_too_large: { status: 413, when: "The request body is larger than 64 KiB." },
  unsupported_media_type: {
    status: 415,
    when: "The media type or the `Content-Encoding` of the request body is not supported.",
  },
  idempotency_key_reused: { status: 422, when: "The `Idempotency-Key` was used for another request." },
  // The window of the rate limiter in wrangler.toml.
  rate_limited: { status: 429, when: "The API key has sent too many requests.", retryAfter: 60 },
  internal_error: { status: 500, when: "The service has a bug." },
  service_unavailable: { status: 503, when: "Storage cannot respond.", retryAfter: 5 },
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

  constructor(code: ErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

/** KV, D1 or the rate limiter cannot respond. */
export function serviceUnavailable(cause: unknown): ApiError {
  return new ApiError("service_unavailable", "The service cannot respond right now. Try again later.", { cause });
}

/**
 * Turns a thrown value into the failure that the client sees. Anything but an ApiError is a bug, and its details stay in the log.
 */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError("internal_error", "Something went wrong inside the service.", { cause: thrown });
}
