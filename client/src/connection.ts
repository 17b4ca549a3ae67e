import { type Answer, readAnswer } from "./answer.ts";
import { exchange, limit } from "./attempt.ts";
import { PetStoreError } from "./error.ts";
import { stringifyExact } from "./json.ts";
import {
  type Attempt,
  checkApiKey,
  checkBaseUrl,
  checkHeader,
  isBrowser,
  type Limits,
  limitsOf,
  type PetStoreOptions,
  type RequestOptions,
  RUNTIME,
  type WebSocketClass,
} from "./options.ts";
import { defaultPolicy, faultOf, pauseAfter } from "./retry.ts";
import type { operations } from "./schema.ts";

/** A request for an operation, however many attempts it takes. */
export interface Call extends RequestOptions {
  operation: keyof operations;
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: URLSearchParams;
  body?: object | undefined;
  /** Headers of the operation. Those without a value are not sent. */
  headers?: Record<string, string | undefined>;
  /** The key that the caller gives to go on after an error. That of the header unless given. */
  idempotencyKey?: string | undefined;
  /** The number of animals in earlier batches: created ones, or changes. */
  created?: number;
  done?: number;
  /** Whether a 404 after a lost response means success: the first attempt deleted the resource. */
  deletes?: boolean;
  /** Whether a response is what the operation returns. Without this, the operation returns 204 and no content. */
  expects?: (value: unknown, headers: Headers) => boolean;
}

/** The form of a bookmark of D1. */
const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** The last state of the database that a client saw. */
export interface Memory {
  bookmark: string | undefined;
}

/** Keeps a bookmark that is newer: bookmarks sort by age, and responses come in any order. The service refuses any other text. */
export function remember(memory: Memory, bookmark: unknown): void {
  const text = String(bookmark);
  if (BOOKMARK.test(text) && text > (memory.bookmark ?? "")) memory.bookmark = text;
}

/** The keys of a request. */
interface Keys {
  /** That of the last attempt. */
  used: string | undefined;
  /** The one of a change whose response was lost. Under another one, its `Idempotency-Key` is another, and it would happen again. */
  kept: string | undefined;
  /** The one that the service refused, after which the caller's function gave another one. */
  refused: string | undefined;
}

/** Its key and its customer, to whom an `Idempotency-Key` belongs, are those of the token before. */
export const CUSTOMER_TOKEN = /^petstore_[a-z]+_t_/;

/**
 * Whether a call may be repeated that the service may have run. Without an `Idempotency-Key`, a second POST does its work twice, but a
 * token is stored nowhere. A 503 of the service tells by its `Retry-After` that nothing has happened.
 */
const isRepeatable = ({ method, operation }: Call, { code, idempotencyKey, retryAfter }: PetStoreError): boolean =>
  method !== "POST" ||
  idempotencyKey !== undefined ||
  operation === "createToken" ||
  (code === "service_unavailable" && retryAfter !== undefined);

/** The service, as all sessions of a `PetStore` reach it. */
export class Connection {
  readonly #options: PetStoreOptions;
  readonly #baseUrl: string;
  readonly #limits: Limits;
  readonly #reported = new Set<string>();

  /** @throws TypeError when an option cannot be used. */
  constructor(options: PetStoreOptions) {
    this.#options = options;
    this.#baseUrl = checkBaseUrl(options.baseUrl);
    if (typeof options.apiKey !== "function") checkApiKey(options.apiKey);
    this.#limits = limitsOf(options, { timeout: 30_000, ...defaultPolicy() });
  }

  /**
   * Sends a request until it succeeds, or may not be repeated.
   *
   * @throws PetStoreError, RangeError or TypeError before anything is sent, the reason of the caller's signal, or an error of the
   * caller's own functions.
   */
  async send(call: Call, memory: Memory = { bookmark: undefined }): Promise<Answer> {
    const limits = limitsOf(call, this.#limits);
    const search = String(call.query ?? "");
    const url = this.addressOf(`${call.path}${search && `?${search}`}`);
    const init = this.#request(call, memory);
    const deadline = performance.now() + limits.totalTime;
    let lost = false;
    const keys: Keys = { used: undefined, kept: undefined, refused: undefined };
    for (let attempt = 1; ; attempt++) {
      const begin = performance.now();
      const outcome = await this.#attempt(call, url, init, Math.min(limits.timeout, deadline - begin), memory, keys);
      const { status, requestId } = outcome;
      let error = outcome instanceof PetStoreError ? outcome : undefined;
      if (lost && call.deletes && error?.code === "not_found") error = undefined;
      let retryIn: number | undefined;
      if (error) {
        error.idempotencyKey = call.idempotencyKey ?? call.headers?.["Idempotency-Key"];
        error.created = call.created;
        error.done = call.done;
        const fault = faultOf(error);
        lost ||= fault === "lost";
        const mayDouble = lost && error.idempotencyKey !== undefined && !CUSTOMER_TOKEN.test(keys.used ?? "");
        if (mayDouble) keys.kept = keys.used;
        // Once, and at once. The service did not run the request, so this is none of its attempts.
        const mayRenew = this.renewsKeys && keys.refused === undefined && !mayDouble;
        const renews = error.code === "unauthorized" && mayRenew;
        if (renews) keys.refused = keys.used;
        const pause = pauseAfter(attempt, error.retryAfter, limits);
        const isShort = (error.retryAfter ?? 0) * 1_000 <= limits.longestRetryAfter;
        const attempts = limits.attempts + (keys.refused === undefined ? 0 : 1);
        const inTime = isShort && attempt < attempts && performance.now() + pause < deadline;
        if (inTime && (fault === "refused" || (fault === "lost" && isRepeatable(call, error)))) retryIn = pause;
        if (renews && begin < deadline) retryIn = 0;
      }
      const duration = performance.now() - begin;
      this.tell({ operation: call.operation, url, attempt, duration, status, requestId, error, retryIn });
      // A deletion has no value.
      if (error === undefined) return outcome as Answer;
      if (retryIn === undefined) throw error;
      await limit(() => new Promise(() => {}), retryIn, call.signal);
      // The machine may have slept. An attempt without time would be sent, and then not waited for.
      if (performance.now() >= deadline) throw error;
    }
  }

  /** Whether the program has another key after one that the service refused. */
  get renewsKeys(): boolean {
    return typeof this.#options.apiKey === "function";
  }

  /** The sockets of the program, or of the runtime. */
  get WebSocket(): WebSocketClass | undefined {
    return this.#options.WebSocket ?? RUNTIME.WebSocket;
  }

  addressOf(path: string): string {
    return this.#baseUrl + path;
  }

  /** What the next request presents. */
  async key(refused: string | undefined): Promise<string> {
    const { apiKey } = this.#options;
    return checkApiKey(typeof apiKey === "function" ? await apiKey(refused) : apiKey);
  }

  tell(attempt: Attempt): void {
    this.#options.onAttempt?.(attempt);
  }

  /** Sends a request once. Returns its failure, unless that comes from the caller. */
  async #attempt(
    call: Call,
    url: string,
    init: RequestInit & { headers: [string, string][] },
    time: number,
    memory: Memory,
    keys: Keys,
  ): Promise<Answer | PetStoreError> {
    try {
      const received = await limit(
        async (signal) => {
          keys.used = keys.kept;
          const apiKey = (keys.used ??= await this.key(keys.refused));
          const headers = [...init.headers, ["Authorization", `Bearer ${apiKey}`] as [string, string]];
          return { apiKey, ...(await exchange(this.#options.fetch, url, { ...init, headers, signal })) };
        },
        time,
        call.signal,
      );
      if (received === undefined) {
        throw new PetStoreError("timeout", `The response was not complete within ${Math.round(time)} ms.`);
      }
      const { response, text, apiKey } = received;
      // Errors too tell how new the database is.
      this.#notice(call, response.headers, memory, apiKey);
      return readAnswer(call, response, text, apiKey);
    } catch (thrown) {
      if (thrown instanceof PetStoreError) return thrown;
      throw thrown;
    }
  }

  #request({ method, headers = {}, body }: Call, { bookmark }: Memory): RequestInit & { headers: [string, string][] } {
    const all = {
      // A browser sends its own. Another one asks for a permission (Fetch, CORS), which the service does not give.
      "User-Agent": isBrowser() ? undefined : this.#options.userAgent,
      "x-d1-bookmark": bookmark,
      "Content-Type": body && (method === "PATCH" ? "application/merge-patch+json" : "application/json"),
      ...headers,
    };
    const present = Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, checkHeader(name, value)] as [string, string]);
    // A redirect could take a request elsewhere, and the service has none.
    return { method, headers: present, redirect: "manual", ...(body && { body: stringifyExact(body) }) };
  }

  #notice({ operation }: Call, headers: Headers, memory: Memory, apiKey: string): void {
    remember(memory, headers.get("x-d1-bookmark"));
    const sunset = headers.get("Sunset");
    if (sunset === null || this.#reported.has(operation)) return;
    this.#reported.add(operation);
    const link = headers.get("Link")?.replaceAll(apiKey, "[API key]");
    this.#options.onDeprecation?.({ operation, sunset: new Date(sunset), link });
  }
}
