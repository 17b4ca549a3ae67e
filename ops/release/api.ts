import { adviceOnToken, CONNECTION_ADVICE, isAboutToken } from "../advice.ts";
import { type Clock, PROCESS_CLOCK } from "../clock.ts";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";
import { Pace, WHOLE, WINDOW } from "./pace.ts";

const PUBLIC_API = "https://api.cloudflare.com/client/v4";
/** Milliseconds for one request. */
const TIMEOUT = 30_000;
/** Attempts of a request that fails for a reason that may pass. */
export const ATTEMPTS = 4;
/** Milliseconds before the second attempt; doubled for each further one. */
const PAUSE = 500;
/** Seconds. A response that asks for a longer wait is a failure. Cloudflare blocks a token for up to five minutes (source: pace.ts). */
export const LONGEST_WAIT = 10 * 60;
/** In the message of a 429 that takes no request of this user or token for some minutes, if it does not say for how many. */
export const BLOCK = /requests per \d+ seconds|throttling your request/i;
/** Milliseconds by which the clock of this machine may differ from Cloudflare's. */
const CLOCK_TOLERANCE = 60_000;
/** "No route" and "Could not route", with status 404: they say nothing about the resource. */
const NO_ROUTE = [7000, 7003];
/** Characters of an unexpected body that a message shows. */
const EXCERPT = 120;

type Body = object | FormData | Blob;

export interface ApiRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** With its query, below the account. */
  path: string;
  headers?: Record<string, string>;
  /** Sent as JSON, unless it is a form or bytes. A function makes it for each attempt, when nothing is left to wait for. */
  body?: Body | (() => Promise<Body>);
  /** Milliseconds for the whole request, if it is not small. */
  timeout?: number;
  /** Whether a second attempt does no harm after a first one that took effect. True unless given. */
  repeatable?: boolean;
}

/** What a command shows to the API. Others change the value when it has ended. */
export interface Token {
  value: string;
  /** Reads that of wrangler's login again. Absent for one that a person set. */
  renew?: () => Promise<string>;
}

/** A request that failed. The message has its status, the start of the response, and what to do if that is known. */
export class ApiFailure extends Error {
  /** Undefined when there was no response. */
  readonly status: number | undefined;
  readonly codes: readonly number[];
  /** Milliseconds to wait, as the response says. */
  readonly retryAfter: number | undefined;

  constructor(
    request: ApiRequest,
    reason: string,
    { status, codes = [], retryAfter }: { status?: number; codes?: number[]; retryAfter?: number | undefined } = {},
  ) {
    super(describe(request, reason, status, codes));
    this.status = status;
    this.codes = codes;
    this.retryAfter = retryAfter;
  }

  /** Whether the resource does not exist, in the API's own words. */
  get isAbsence(): boolean {
    return this.status === 404 && this.codes.length > 0 && !this.codes.some((code) => NO_ROUTE.includes(code));
  }

  /** Whether the API refused the token or login, or what it may do. */
  get isUnauthorized(): boolean {
    return this.isFinal && this.status !== undefined && isAboutToken(this.status, this.codes);
  }

  /** Whether the API refused for a reason that stays, and changed nothing. */
  get isFinal(): boolean {
    return this.codes.length > 0 && this.status !== undefined && this.status < 500 && this.status !== 429;
  }
}

function describe({ method, path }: ApiRequest, reason: string, status: number | undefined, codes: number[]): string {
  const what = `${method} ${path.split("?")[0]}`;
  if (status === undefined) return `There is no response of Cloudflare to ${what}: ${reason}. ${CONNECTION_ADVICE}`;
  // Anything else than an error of the API in its own form comes from something in between.
  if (status >= 500 || codes.length === 0) return `Cloudflare could not answer ${what}: ${reason}.`;
  const refusal = `Cloudflare refused ${what}: ${reason}.`;
  return isAboutToken(status, codes) ? `${refusal} ${adviceOnToken(path, method)}` : refusal;
}

export interface Use {
  clock?: Clock;
  /** Of the limit of requests that all programs of the user or token have together. */
  share?: number;
  /** Tells of a wait for the API. That of the terminal, unless given. */
  say?: (text: string) => void;
  /** Milliseconds after which a wrangler that hangs is ended. */
  patience?: number;
}

export class Api {
  protected readonly account: string;
  protected readonly token: Token;
  protected readonly clock: Clock;
  protected readonly pace: Pace;
  #ahead: number | undefined;

  constructor(
    account: string,
    token: string | Token,
    terminal: Terminal,
    { clock = PROCESS_CLOCK, share = WHOLE, say = (text) => terminal.say(text) }: Use = {},
  ) {
    this.account = account;
    this.token = typeof token === "string" ? { value: token } : token;
    this.clock = clock;
    this.pace = new Pace(clock, say, share);
  }

  /** The time, in milliseconds since 1970, by Cloudflare's clock as soon as a response has told it. */
  now(): number {
    return Date.now() + (this.#ahead ?? 0);
  }

  /** For a command that writes when something ends, or deletes what is old. Throws when the clocks differ by more than a minute. */
  refuseClock(): void {
    if (!this.#ahead) return;
    const [our, their] = [Date.now(), this.now()].map((time) => new Date(time).toISOString().replace(/\.\d+/, ""));
    throw new Error(
      `The clock of this machine says ${our}, and that of Cloudflare ${their}. Correct the clock, and start again.`,
    );
  }

  /**
   * Sends a request, and again after a failure that may pass: no response, a 429, a 5xx, or a response that is not the API's. Returns the
   * `result` of the response. Throws an ApiFailure, as all requests do.
   */
  async send<Result>(request: ApiRequest): Promise<Result> {
    return (await this.sendForEnvelope<Result>(request)).result;
  }

  /** Does the same, and returns the whole response. */
  protected async sendForEnvelope<Result>(request: ApiRequest): Promise<Envelope<Result>> {
    const body = await this.sendForBytes(request, (bytes) => parse(bytes.toString())?.success === true);
    return parse(body.toString()) as Envelope<Result>;
  }

  /** Does the same for a response whose body is not the API's own JSON. @param isExpected of a body that follows a status of success. */
  protected async sendForBytes(request: ApiRequest, isExpected: (body: Buffer) => boolean): Promise<Buffer> {
    const { repeatable = true } = request;
    for (let attempt = 1; ; attempt++) {
      await this.pace.turn();
      const body = typeof request.body === "function" ? await request.body() : request.body;
      try {
        return await this.#attempt(request, body, isExpected);
      } catch (error) {
        if (!(error instanceof ApiFailure) || attempt === ATTEMPTS) throw error;
        if (error.isUnauthorized && (await this.#renewToken())) continue;
        const { isFinal, status, retryAfter } = error;
        // A 429 has changed nothing.
        if (isFinal || (!repeatable && status !== 429) || (retryAfter ?? 0) > LONGEST_WAIT * 1_000) throw error;
        // The next attempt waits for its turn.
        if (retryAfter !== undefined) this.pace.close(retryAfter);
        else await this.clock.sleep(PAUSE * 2 ** (attempt - 1));
      }
    }
  }

  /** Whether there is another token now: that of a login lasts for an hour, and a restore takes longer. */
  async #renewToken(): Promise<boolean> {
    const before = this.token.value;
    this.token.value = (await this.token.renew?.()) ?? before;
    return this.token.value !== before;
  }

  async #attempt(request: ApiRequest, body: Body | undefined, isExpected: (body: Buffer) => boolean): Promise<Buffer> {
    const { method, path, headers, timeout = TIMEOUT } = request;
    const base = process.env["CLOUDFLARE_API_BASE_URL"] ?? PUBLIC_API;
    const isJson = body !== undefined && !(body instanceof FormData) && !(body instanceof Blob);
    const fail = (error: unknown): never => {
      throw new ApiFailure(request, oneLine(error));
    };
    const sent = Date.now();
    const response = await fetch(`${base}/accounts/${this.account}${path}`, {
      method,
      headers: {
        Authorization: `Bearer ${this.token.value}`,
        ...(isJson && { "Content-Type": "application/json" }),
        ...headers,
      },
      ...(body !== undefined && { body: isJson ? JSON.stringify(body) : body }),
      signal: AbortSignal.timeout(timeout),
    }).catch(fail);
    const received = Date.now();
    const bytes = Buffer.from(await response.arrayBuffer().catch(fail));
    this.pace.note(response.headers);
    const isSuccess = response.ok && isExpected(bytes);
    const text = isSuccess ? "" : bytes.toString();
    const envelope = isSuccess ? undefined : parse(text);
    if (isSuccess || envelope !== undefined) this.#compareClocks(response, sent, received);
    if (isSuccess) return bytes;
    const { status } = response;
    const errors = envelope?.errors ?? [];
    const told = errors.map(({ code, message }) => `${message} (code ${code})`).join(", ");
    const reason = told === "" ? `Status ${status} with ${excerpt(text)}` : `${told}, status ${status}`;
    const block = status === 429 && BLOCK.test(told) ? WINDOW / 1_000 : NaN;
    const seconds = Number(response.headers.get("Retry-After") ?? block);
    throw new ApiFailure(request, reason, {
      status,
      codes: errors.map(({ code }) => code),
      retryAfter: Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined,
    });
  }

  /** Compares the clocks by the first response of the API itself. */
  #compareClocks({ headers }: Response, sent: number, received: number): void {
    const theirs = Date.parse(headers.get("Date") ?? "");
    if (this.#ahead !== undefined || Number.isNaN(theirs)) return;
    const isClose = theirs >= sent - CLOCK_TOLERANCE && theirs <= received + CLOCK_TOLERANCE;
    this.#ahead = isClose ? 0 : theirs - received;
  }
}

/** What every response of the API is, but for the values of KV. */
interface Envelope<Result> {
  success: boolean;
  result: Result;
  /** Of a list that goes on. */
  result_info?: { cursor?: string; is_truncated?: boolean; total_count?: number };
  errors?: { code: number; message: string }[];
}

function parse(text: string): Envelope<unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && "success" in value ? (value as Envelope<unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function excerpt(text: string): string {
  const start = text.slice(0, EXCERPT).replaceAll(/[\p{C}\s]+/gu, " ");
  return text === "" ? "an empty body" : `the body ${JSON.stringify(start.trim())}`;
}
