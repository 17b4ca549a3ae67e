import { type Answer, readAnswer } from "./answer.ts";
import { attempt, type Fetch } from "./attempt.ts";
import { PetStoreError } from "./error.ts";
import { stringifyExact } from "./json.ts";
import { DEFAULT_POLICY, faultOf, pauseAfter, type RetryPolicy, sleep } from "./retry.ts";
import type { operations } from "./schema.ts";

/** An operation that the service announced to remove. */
export interface Deprecation {
  operation: keyof operations;
  /** When the service removes the operation. */
  sunset: Date;
  /** The `Link` header: the replacement, and a page about it. */
  link: string | undefined;
}

export interface PetStoreOptions {
  /** The address of the API with its version, for example `https://petstore.example/v1`. */
  baseUrl: string | URL;
  apiKey: string;
  /** Milliseconds for one attempt. 30,000 unless given. */
  timeout?: number;
  retry?: Partial<RetryPolicy>;
  /** Sends the requests, and ends them with their signal. The `fetch` of the runtime unless given. */
  fetch?: Fetch;
  /** Is told each deprecated operation once, at its first use. */
  onDeprecation?: (deprecation: Deprecation) => void;
}

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request. It then rejects with the reason of the signal. */
  signal?: AbortSignal | undefined;
}

/** A request for an operation, however many attempts it takes. */
export interface Call extends RequestOptions {
  operation: keyof operations;
  method: "GET" | "POST" | "PATCH" | "DELETE";
  path: string;
  query?: URLSearchParams;
  body?: object;
  /** Headers of the operation. Those without a value are not sent. */
  headers?: Record<string, string | undefined>;
  /** Whether a 404 after a lost response means success: the first attempt deleted the resource. */
  deletes?: boolean;
  /** Whether a response is what the operation returns. Without this, the operation returns 204 and no content. */
  expects?: (value: unknown, headers: Headers) => boolean;
}

/** Visible ASCII, with spaces inside. An empty header would be lost on its way to the service. */
const HEADER_VALUE = /^[!-~][ -~]*$/;

/** The form of a bookmark of D1. */
const BOOKMARK = /^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/;

/** The last state of the database that a client saw. */
export interface Memory {
  bookmark: string | undefined;
}

/** The service, as all sessions of a `PetStore` reach it. */
export class Connection {
  readonly #options: PetStoreOptions;
  readonly #apiKey: string;
  readonly #policy: RetryPolicy;
  readonly #reported = new Set<string>();

  constructor(options: PetStoreOptions) {
    this.#options = options;
    this.#apiKey = options.apiKey.trim();
    if (!HEADER_VALUE.test(this.#apiKey)) throw new TypeError("The API key has to be visible ASCII.");
    this.#policy = { ...DEFAULT_POLICY, ...options.retry };
  }

  /**
   * Sends a request until it succeeds, or may not be repeated.
   *
   * @throws PetStoreError, RangeError before anything is sent, or the reason of the caller's signal.
   */
  async send(call: Call, memory: Memory = { bookmark: undefined }): Promise<Answer> {
    const { timeout = 30_000, fetch = (url: string, init: RequestInit) => globalThis.fetch(url, init) } = this.#options;
    const url = this.#url(call);
    const init = this.#request(call, memory);
    const deadline = performance.now() + this.#policy.totalTime;
    let lost = false;
    for (let count = 1; ; count++) {
      try {
        const left = Math.min(timeout, deadline - performance.now());
        const { response, text } = await attempt(fetch, url, init, left, call.signal);
        // Errors too tell how new the database is.
        this.#notice(call, response.headers, memory);
        return readAnswer(call, response, text, this.#apiKey);
      } catch (error) {
        if (!(error instanceof PetStoreError)) throw error;
        if (lost && call.deletes && error.code === "not_found") return { value: undefined, headers: new Headers() };
        error.idempotencyKey = call.headers?.["Idempotency-Key"];
        const fault = faultOf(error);
        lost ||= fault === "lost";
        const pause = pauseAfter(count, error.retryAfter, this.#policy);
        const inTime = count < this.#policy.attempts && performance.now() + pause < deadline;
        if (fault === "final" || !inTime) throw error;
        await sleep(pause, call.signal);
      }
    }
  }

  #url({ path, query }: Call): string {
    const search = String(query ?? "");
    return `${String(this.#options.baseUrl).replace(/\/$/, "")}${path}${search && `?${search}`}`;
  }

  #request({ method, headers = {}, body }: Call, { bookmark }: Memory): RequestInit {
    const all = {
      Authorization: `Bearer ${this.#apiKey}`,
      "x-d1-bookmark": bookmark,
      "Content-Type": body && (method === "PATCH" ? "application/merge-patch+json" : "application/json"),
      ...headers,
    };
    const present = Object.entries(all)
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, `${value}`.trim()] as [string, string]);
    for (const [name, value] of present) {
      if (!HEADER_VALUE.test(value)) throw new RangeError(`${name} has to be visible ASCII.`);
    }
    return { method, headers: present, ...(body && { body: stringifyExact(body) }) };
  }

  #notice({ operation }: Call, headers: Headers, memory: Memory): void {
    const bookmark = headers.get("x-d1-bookmark") ?? "";
    // Bookmarks sort by age. The responses of concurrent requests come in any order. The service refuses any other text.
    if (BOOKMARK.test(bookmark) && bookmark > (memory.bookmark ?? "")) memory.bookmark = bookmark;
    const sunset = headers.get("Sunset");
    if (sunset === null || this.#reported.has(operation)) return;
    this.#reported.add(operation);
    const link = headers.get("Link")?.replaceAll(this.#apiKey, "[API key]");
    this.#options.onDeprecation?.({ operation, sunset: new Date(sunset), link });
  }
}
