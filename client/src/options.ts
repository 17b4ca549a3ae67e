import type { Fetch } from "./attempt.ts";
import type { PetStoreError } from "./error.ts";
import type { RetryPolicy } from "./retry.ts";
import type { operations } from "./schema.ts";

/** An operation that the service announced to remove. */
export interface Deprecation {
  operation: keyof operations;
  /** When the service removes the operation. */
  sunset: Date;
  /** The `Link` header: the replacement, and a page about it. */
  link: string | undefined;
}

/** An attempt of a request that has a response or failed. */
export interface Attempt {
  operation: keyof operations;
  url: string;
  /** 1 for the first attempt of the request. */
  attempt: number;
  /** Milliseconds from the begin of the attempt. */
  duration: number;
  /** The HTTP status, or undefined without a response. */
  status: number | undefined;
  /** The `X-Request-Id` of the response. */
  requestId: string | undefined;
  /** Why the attempt failed. */
  error: PetStoreError | undefined;
  /** Milliseconds until the next attempt. Undefined after the last one. */
  retryIn: number | undefined;
}

/** The part of a WebSocket that the client uses. That of every runtime fits, and that of the package `ws`. */
export type WebSocketClass = new (
  url: string,
  protocols: string[],
) => {
  readonly readyState: number;
  addEventListener(type: "message" | "close" | "error", listener: (event: never) => void): void;
  send(text: string): void;
  close(): void;
};

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request. It then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for one attempt. 30,000 unless given. */
  timeout?: number | undefined;
  retry?: { [Name in keyof RetryPolicy]?: RetryPolicy[Name] | undefined } | undefined;
}

/** Options of a read. */
export interface ReadOptions extends RequestOptions {
  /** How many seconds old the response may be, 60 at most. The service may then spare the database. */
  maxAge?: number | undefined;
}

/** `timeout` and `retry` are for the requests that have none of their own. */
export interface PetStoreOptions extends Omit<RequestOptions, "signal"> {
  /** The address of the API with its version, for example `https://petstore.example/v1`. */
  baseUrl: string | URL;
  /**
   * The key or the customer token, or a function that the client calls before each attempt, so that it can change. A change whose response
   * was lost keeps its API key. After a 401, the function gets what the service refused, and the request is sent once more with what it
   * returns.
   */
  apiKey: string | ((refused?: string) => string | Promise<string>);
  /** The name and the version of the program, for example `my-shop/1.0`. Browsers send their own. */
  userAgent?: string | undefined;
  /** Sends the requests, and ends them with their signal. The `fetch` of the runtime unless given. */
  fetch?: Fetch | undefined;
  /** Makes the sockets of a feed that is `live`. The WebSocket of the runtime unless given: Node.js 20 has none. */
  WebSocket?: WebSocketClass | undefined;
  /** Is told every attempt of every request. */
  onAttempt?: ((attempt: Attempt) => void) | undefined;
  /** Is told each deprecated operation once, at its first use. */
  onDeprecation?: ((deprecation: Deprecation) => void) | undefined;
}

/** Parts of some runtimes. */
export const RUNTIME = globalThis as object as {
  location?: URL;
  navigator?: { userAgent?: string };
  WebSocket?: WebSocketClass;
};

export const isBrowser = (): boolean => RUNTIME.navigator?.userAgent?.startsWith("Mozilla") ?? false;

/** Visible ASCII, with spaces inside. An empty header would be lost on its way to the service. */
const HEADER_VALUE = /^[!-~][ -~]*$/;
/** The service takes no spaces in a key. */
const IDEMPOTENCY_KEY = /^[!-~]+$/;

/**
 * The address without a slash at its end. In a browser, it may be relative to the page.
 *
 * @throws TypeError when it is no address of an API.
 */
export function checkBaseUrl(baseUrl: string | URL): string {
  try {
    const { href } = new URL(baseUrl, RUNTIME.location?.href);
    if (baseUrl && /^https?:\/\/[^@/]+\/[^?#]*$/.test(href)) return href.replace(/\/$/, "");
  } catch {}
  throw new TypeError("baseUrl has to be an address like https://petstore.example/v1.");
}

/**
 * The value of a header without the white space around it.
 *
 * @throws RangeError when it cannot be sent.
 */
export function checkHeader(name: string, value: string | number = ""): string {
  const trimmed = String(value).trim();
  const isValid = (name === "Idempotency-Key" ? IDEMPOTENCY_KEY : HEADER_VALUE).test(trimmed);
  if (!isValid) throw new RangeError(`${name} has to be visible ASCII.`);
  return trimmed;
}

/**
 * The key without the white space around it.
 *
 * @throws TypeError when it cannot be sent.
 */
export function checkApiKey(apiKey: string): string {
  const key = typeof apiKey === "string" ? apiKey.trim() : "";
  if (!HEADER_VALUE.test(key)) throw new TypeError("apiKey has to be visible ASCII.");
  return key;
}

/**
 * Allows a response of some age.
 *
 * @throws TypeError when the service would not understand the age, and ignore it.
 */
export function cacheControl({ maxAge }: ReadOptions): string | undefined {
  if (maxAge === undefined) return undefined;
  if (!Number.isSafeInteger(maxAge) || maxAge < 0) throw new TypeError("maxAge has to be a whole number of seconds.");
  return `max-age=${maxAge}`;
}

/** When an attempt and a request end. */
export interface Limits extends RetryPolicy {
  timeout: number;
}

/**
 * The given limits, and the others as before. An undefined one counts as not given.
 *
 * @throws TypeError when one is no number, or negative.
 */
export function limitsOf({ timeout, retry }: RequestOptions, others: Limits): Limits {
  const limits = { ...others };
  for (const [name, value = others[name as keyof Limits]] of Object.entries({ timeout, ...retry })) {
    if (typeof value !== "number" || !(value >= 0)) throw new TypeError(`${name} has to be a number of at least 0.`);
    limits[name as keyof Limits] = value;
  }
  return limits;
}
