/** Every failure the API can answer with. The list is closed and published; a code always travels with the same status. */
export const ERROR_STATUS = {
  invalid_request: 400,
  unauthorized: 401,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  request_timeout: 408,
  payload_too_large: 413,
  unsupported_media_type: 415,
  idempotency_key_reused: 422,
  rate_limited: 429,
  internal_error: 500,
  service_unavailable: 503,
} as const;

export type ErrorCode = keyof typeof ERROR_STATUS;

/** The body of every failure: three fields, flat, `status` equal to the HTTP status. */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
  status: number;
}

// A property of V8 that TypeScript's library does not know.
const v8Error = Error as unknown as { stackTraceLimit: number };

/**
 * A failure as the client sees it. `message` is written for strangers: no SQL, no stack, nothing that the caller sent.
 * What really happened goes into `cause`, which is logged and never sent.
 */
export class ApiError extends Error {
  readonly code: ErrorCode;
  readonly headers: Record<string, string>;

  constructor(code: ErrorCode, message: string, options: { headers?: Record<string, string>; cause?: unknown } = {}) {
    // No stack: it is never read (what is logged is the cause), and taking it costs a tenth of a refused request.
    const { stackTraceLimit } = v8Error;
    v8Error.stackTraceLimit = 0;
    super(message, { cause: options.cause });
    v8Error.stackTraceLimit = stackTraceLimit;
    this.name = "ApiError";
    this.code = code;
    this.headers = options.headers ?? {};
  }

  get status() {
    return ERROR_STATUS[this.code];
  }

  get body(): ErrorBody {
    return { code: this.code, message: this.message, status: this.status };
  }
}

/** Seconds a client should wait before it tries again when storage cannot answer (RFC 9110, section 10.2.3). */
const STORAGE_RETRY_AFTER_SECONDS = 5;

/** KV, D1 or the rate limiter cannot answer. */
export function serviceUnavailable(cause: unknown): ApiError {
  return new ApiError("service_unavailable", "The service cannot answer right now. Try again later.", {
    headers: { "Retry-After": String(STORAGE_RETRY_AFTER_SECONDS) },
    cause,
  });
}

/** Any thrown value as the failure a stranger may see: whatever we did not throw ourselves is a bug, and says nothing. */
export function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown;
  return new ApiError("internal_error", "Something went wrong on our side.", { cause: thrown });
}
