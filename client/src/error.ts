import type { components } from "./schema.ts";

/** The codes of the service. */
export type ServiceErrorCode = components["schemas"]["ErrorCode"];

/**
 * The codes of the client itself:
 *
 * - `network`: no response, or not all of it.
 * - `timeout`: no complete response in time.
 * - `idempotency_key_expired`: the key of many creations or changes is too old (`firstUsed`). Nothing more was sent.
 * - `unexpected_response`: a response that the service does not send, for example the HTML of a proxy.
 */
export type ClientErrorCode = "network" | "timeout" | "idempotency_key_expired" | "unexpected_response";

/** Other codes may come with later versions of the service. */
export type PetStoreErrorCode = ServiceErrorCode | ClientErrorCode | (string & {});

interface Details {
  status?: number | undefined;
  requestId?: string | undefined;
  retryAfter?: number | undefined;
}

/** A request that failed, after its last attempt. */
export class PetStoreError extends Error {
  override readonly name = "PetStoreError";
  readonly code: PetStoreErrorCode;
  /** The HTTP status, or undefined without a response. */
  readonly status: number | undefined;
  /** The `X-Request-Id` of the response. Quote it in questions about the error. */
  readonly requestId: string | undefined;
  /** Seconds that the service asks to wait before another attempt. */
  readonly retryAfter: number | undefined;
  /** The key of a creation. Another call with it and with the same fields cannot create a second resource. */
  idempotencyKey: string | undefined;
  /** The number of animals that `createMany` created before this batch. `3: name` in the message is of animal `created + 3`, from 0. */
  created: number | undefined;
  /** The number of changes that `updateMany` made before this batch. `3:` in the message is of change `done + 3`, from 0. */
  done: number | undefined;

  constructor(code: PetStoreErrorCode, message: string, { status, requestId, retryAfter }: Details = {}) {
    super(message);
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }

  /** The fields and the message, for logs of JSON. */
  toJSON(): object {
    return { ...this, message: this.message };
  }
}
