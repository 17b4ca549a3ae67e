import { parse } from "./answer.ts";
import { limit, MAX_BYTES } from "./attempt.ts";
import { type Connection, CUSTOMER_TOKEN, type Memory, remember } from "./connection.ts";
import { PetStoreError } from "./error.ts";
import type { EventPage } from "./events.ts";
import type { WebSocketClass } from "./options.ts";

const PROTOCOL = "petstore.live.v1";
/** Milliseconds between two looks at the socket, between two pings, for the answer to a ping or to the handshake, and for a key. */
const [LOOK, PING, ANSWER, KEY] = [1_000, 30_000, 10_000, 30_000];
/** What a socket is that the service has closed, while its connection is not closed (WHATWG WebSockets, section 3.1). */
const CLOSING = 2;
/** So many sockets have to fail, one after the other, before requests replace them. Then one turn of so many tries a socket. */
const [FAILURES, TURNS] = [3, 10];
/** The code of a socket after which the next one may come at once (docs/events.md, A live feed). */
const FULL = 1008;
/** Close codes from here on are the statuses of responses, with the codes of the errors as their reasons. */
const STATUSES = 4_000;

/** The feed over sockets, one after the other. */
export class Live {
  readonly #connection: Connection;
  readonly #memory: Memory;
  readonly #signal: AbortSignal | undefined;
  #socket: Socket | undefined;
  /** Whether the socket brought events. */
  #isUsed = false;
  #key = "";
  #failures = 0;

  constructor(connection: Connection, memory: Memory, signal: AbortSignal | undefined) {
    [this.#connection, this.#memory, this.#signal] = [connection, memory, signal];
  }

  /** Whether the next page comes over a socket, as far as that is known. */
  get opens(): boolean {
    return this.#connection.WebSocket !== undefined && this.#failures < FAILURES;
  }

  /** Whether the last key was the token of a customer. */
  get isCustomer(): boolean {
    return CUSTOMER_TOKEN.test(this.#key);
  }

  /**
   * Waits for the page after a place. Undefined when a request has to fetch it: no socket opens here, or the service refuses the socket,
   * for example because the place is too far back, and the response to a request tells why.
   *
   * @param query names the place.
   * @param asks whether a request has to fetch the page anyway.
   * @param expects whether a value is the page after it.
   * @throws PetStoreError when the connection fails.
   */
  async next(query: URLSearchParams, asks: boolean, expects: (value: unknown) => boolean): Promise<unknown> {
    const signal = this.#signal;
    signal?.throwIfAborted();
    const isNew = this.#socket === undefined;
    const begin = performance.now();
    const url = this.#connection.addressOf(`/events/live?${query}`);
    if (this.#socket === undefined) {
      const key = await limit(() => this.#connection.key(undefined), KEY, signal);
      if (key === undefined) throw new PetStoreError("timeout", "There was no API key in time.");
      this.#key = key;
      const { WebSocket } = this.#connection;
      const isShut = this.#failures >= FAILURES && this.#failures % TURNS > 0;
      if (isShut) this.#failures++;
      if (WebSocket === undefined || asks || isShut) return undefined;
      this.#socket = new Socket(WebSocket, url.replace("http", "ws"), key, signal);
      this.#isUsed = false;
    }
    const { code, text } = await this.#socket.next();
    const error = text === undefined ? new PetStoreError("network", `The socket was closed with ${code}.`) : undefined;
    if (error) this.close();
    if (error && code === FULL && this.#isUsed) return this.next(query, asks, expects);
    this.#failures = isNew && error ? this.#failures + 1 : 0;
    if (isNew) {
      this.#connection.tell({
        operation: "followLive",
        url,
        attempt: 1,
        requestId: undefined,
        duration: performance.now() - begin,
        status: error ? undefined : 101,
        error,
        retryIn: undefined,
      });
    }
    if (error && code >= STATUSES) return undefined;
    if (error) throw error;
    const { value } = parse(text);
    if (!expects(value)) throw new PetStoreError("unexpected_response", "A message is no page.", { status: 200 });
    const { events, bookmark } = value as EventPage & { bookmark?: unknown };
    this.#isUsed ||= events.length > 0;
    remember(this.#memory, bookmark);
    return value;
  }

  close(): void {
    this.#socket?.finish();
    this.#socket = undefined;
  }
}

/** A socket, with the messages that came before somebody asked for them. */
class Socket {
  readonly #socket: InstanceType<WebSocketClass> | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = (): void => this.finish();
  readonly #messages: string[] = [];
  readonly #clock = setInterval(() => this.#look(), LOOK);
  #characters = 0;
  /** When the handshake or the last ping was sent. */
  #askedAt = Date.now();
  #isAnswered = false;
  #wake = (): void => {};
  /** How it ended. 0 until then. */
  #code = 0;

  constructor(WebSocket: WebSocketClass, url: string, key: string, signal: AbortSignal | undefined) {
    this.#signal = signal;
    // Also while nobody asks for a message.
    signal?.addEventListener("abort", this.#abort);
    try {
      this.#socket = new WebSocket(url, [PROTOCOL, key]);
    } catch {
      // The error may show the key.
      this.finish(1006);
    }
    this.#socket?.addEventListener("message", ({ data }: { data: unknown }) => {
      this.#isAnswered = true;
      const text = String(data);
      if (text === "pong" || this.#code > 0) return;
      this.#messages.push(text);
      this.#characters += text.length;
      // The next socket goes on after what is taken.
      if (this.#characters > MAX_BYTES) this.finish(FULL);
      this.#wake();
    });
    this.#socket?.addEventListener("close", ({ code }: { code: number }) => this.finish(code));
    // A close follows. The package `ws` throws what nobody listens to.
    this.#socket?.addEventListener("error", () => {});
  }

  /** The next message, or else the code of the end. */
  async next(): Promise<{ text: string | undefined; code: number }> {
    while (this.#messages.length === 0 && this.#code === 0)
      await limit(() => new Promise<void>((resolve) => (this.#wake = resolve)), Infinity, this.#signal);
    const text = this.#messages.shift();
    this.#characters -= text?.length ?? 0;
    return { text, code: this.#code };
  }

  /** Notices a connection that is gone without a word, also after the machine slept. */
  #look(): void {
    // Node.js would wait until the service closes the connection, which may take the service minutes, and tells the code only then.
    if (this.#socket?.readyState === CLOSING) return this.finish(FULL);
    // A clock may be set back.
    if (Math.abs(Date.now() - this.#askedAt) < (this.#isAnswered ? PING : ANSWER)) return;
    if (!this.#isAnswered) return this.finish(1006);
    [this.#askedAt, this.#isAnswered] = [Date.now(), false];
    this.#socket?.send("ping");
  }

  finish(code = 1_000): void {
    if (this.#code > 0) return;
    this.#code = code;
    clearInterval(this.#clock);
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#socket?.close();
    this.#wake();
  }
}
