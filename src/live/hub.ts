import { ApiError, ERRORS, toApiError } from "../errors.ts";
import { logFailure } from "../log/failure.ts";
import { type Audience, type Item, type Page, pageOf, pagesOf, sees } from "./audience.ts";
import { Feed } from "./feed.ts";
import { POLICY, SocketListener, StreamListener } from "./listener.ts";
import { Listeners } from "./listeners.ts";
import { Looks } from "./looks.ts";
import { Memory, REMEMBERED } from "./memory.ts";
import { TOO_FAR } from "./refusals.ts";
import { Registration } from "./registration.ts";
import { State } from "./state.ts";

/** Reads to find the place of a listener that comes back, at most. */
const MAX_READS = 5;
/** Seconds after the registration for which an isolate may not know the hub. */
const UNKNOWN_FOR = 12;
/** Milliseconds after which a listener that comes has the hub look. */
const FRESH = 1_000;
/** Close codes (RFC 6455, section 7.4.1): none was sent, none could be sent, and all is done. */
const NONE = 1005;
const BROKEN = 1006;
const DONE = 1000;
/** Milliseconds without a ping, after which a socket that has sent one is gone. */
const SILENT_FOR = 150_000;

/** Tells its listeners each new event. It reads the feed once for all of them. */
export class Hub {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #listeners = new Listeners();
  readonly #feed: Feed;
  readonly #looks: Looks;
  readonly #state: State;
  readonly #registration: Registration;
  #memory: Memory;
  /** Listeners that are about to be accepted. */
  #joining = 0;

  /** The hub that an object is, if it is one. */
  static of(ctx: DurableObjectState, env: Env): Hub | undefined {
    const state = State.of(ctx);
    return state && new Hub(ctx, env, state);
  }

  /** A new one. */
  static named(ctx: DurableObjectState, env: Env, name: string): Hub {
    return new Hub(ctx, env, State.named(ctx, name));
  }

  private constructor(ctx: DurableObjectState, env: Env, state: State) {
    [this.#ctx, this.#env, this.#feed, this.#state] = [ctx, env, new Feed(env.DB), state];
    this.#listeners.restore(ctx.getWebSockets());
    // Without listeners, nobody needs what came since.
    if (this.#listeners.size === 0) state.now = { ...state.now, place: "" };
    this.#memory = new Memory(state.now.place);
    this.#looks = new Looks(
      () => this.#look(),
      () => !this.#isEmpty,
      (error) => this.#logError(error),
    );
    this.#registration = new Registration(state, env, ctx, () => this.#looks.poll(UNKNOWN_FOR));
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** Tells that the feed has a new event. */
  async nudge(): Promise<void> {
    // Of an empty hub, it removes a row that a restore brought back. Of others, the platform may have given it up.
    await this.#registration.setAlarm();
    this.#looks.nudge();
  }

  get #isEmpty(): boolean {
    return this.#listeners.size === 0 && this.#joining === 0;
  }

  /** Responds to a request of `followLive`. A failure is a status with its code. */
  async connect(request: Request): Promise<Response> {
    this.#joining++;
    try {
      const audience = JSON.parse(request.headers.get("x-audience") ?? "") as Audience;
      return await this.#join(request, audience, request.headers.get("x-place"));
    } catch (thrown) {
      const { code, message, cause } = toApiError(thrown);
      if (cause !== undefined) this.#logError(cause);
      return Response.json({ code, message }, { status: ERRORS[code].status });
    } finally {
      this.#joining--;
      this.#looks.again();
    }
  }

  async #join(request: Request, audience: Audience, place: string | null): Promise<Response> {
    const isSocket = request.headers.get("Upgrade") === "websocket";
    const isStream = request.headers.get("Accept") === "text/event-stream";
    const stays = isSocket || isStream;
    if (stays) {
      // Also before it costs a read.
      this.#listeners.refuseMore(audience);
      await this.#registration.begin();
    }
    const age = Date.now() - this.#looks.startedAt;
    // A look in the future is none: the clock may have been set back.
    const isFresh = age >= 0 && age <= FRESH;
    // Whoever asks once gets what is there now. Whoever stays gets it soon.
    if (!stays || this.#state.now.place === "" || !isFresh) await this.#looks.now();
    for (let tries = 0; tries < 3; tries++) {
      // No `await` from here to the end of the round: the listener has to be at the place of the hub.
      const items = place === null ? [] : this.#memory.since(place);
      if (items !== undefined) {
        // The reads may have taken long. The isolate answers as to any bad key.
        if (audience.until !== null && audience.until <= Date.now()) throw new ApiError("unauthorized", "");
        const pages = this.#firstPages(items, audience, !stays);
        if (!stays) return new Response(pages[0]?.text);
        this.#listeners.refuseMore(audience);
        return isSocket ? this.#accept(audience, pages) : this.#stream(audience, pages);
      }
      if (place !== null && !(await this.#registration.inTurn(() => this.#recall(place)))) break;
    }
    throw new ApiError("cursor_expired", TOO_FAR);
  }

  #accept(audience: Audience, pages: readonly Page[]): Response {
    const { 0: client, 1: socket } = new WebSocketPair();
    this.#ctx.acceptWebSocket(socket);
    this.#listeners.begin(socket, SocketListener.accepted(socket, audience), pages);
    return new Response(null, { status: 101, webSocket: client });
  }

  #stream(audience: Audience, pages: readonly Page[]): Response {
    const listener = new StreamListener(audience, () => this.#listeners.forget(listener));
    this.#listeners.begin(listener, listener, pages);
    return new Response(listener.body, { headers: { "Content-Type": "text/event-stream" } });
  }

  /**
   * The pages that bring a listener to the place of the hub. There is always one.
   *
   * @param more what each but the last says.
   */
  #firstPages(items: readonly Item[], audience: Audience, more: boolean): Page[] {
    const [{ place }, { bookmark }] = [this.#state.now, this.#feed];
    const seen = items.filter((item) => sees(audience, item));
    const pages = pagesOf(seen, place, bookmark, more);
    return pages.length > 0 ? pages : [pageOf([], place, bookmark)];
  }

  /** Reads from a place to what the hub remembers, and remembers it too. Returns false when the place is too far, or not in the feed. */
  async #recall(place: string): Promise<boolean> {
    const items: Item[] = [];
    let at = place;
    for (let reads = 0; ; reads++) {
      // A read may overtake the hub, and so may what the listener has read elsewhere. A look that runs already may not see it. The next one does.
      for (let looks = 0; looks < 2 && at > this.#state.now.place; looks++) await this.#looks.now();
      const rest = this.#memory.since(at);
      if (rest !== undefined) return this.#memory.beginAt(place, [...items, ...rest]);
      if (reads === MAX_READS || items.length > REMEMBERED) return false;
      // By itself: its bookmark may be older than that of a look that ends before it.
      const read = await new Feed(this.#env.DB).after(at);
      if (read === undefined) return false;
      // The feed ends before the place of the hub, so a restore took that back. The next look learns of it.
      if (read.items.length === 0) await this.#looks.now();
      items.push(...read.items);
      at = read.items.at(-1)?.place ?? at;
    }
  }

  /** Reads the feed to its end, and tells the listeners. */
  async #look(): Promise<void> {
    if (this.#state.now.place === "") await this.#begin();
    for (let more = true; more;) {
      const read = await this.#feed.after(this.#state.now.place);
      // The history is another one.
      if (read === undefined) {
        await this.#begin();
        // Also those who came meanwhile, to the place before.
        return this.#listeners.restart();
      }
      if (read.items.length > 0) {
        await this.#checkKeys();
        this.#tell(read.items);
      }
      ({ more } = read);
    }
  }

  async #begin(): Promise<void> {
    const place = await this.#feed.end();
    this.#memory = new Memory(place);
    this.#state.keep({ place });
  }

  #tell(items: readonly Item[]): void {
    const place = items.at(-1)?.place ?? this.#state.now.place;
    this.#memory.add(items);
    this.#listeners.tell(items, place, this.#feed.bookmark);
    // After the messages, which would wait until it is durable.
    this.#state.keep({ place });
  }

  #checkKeys(): Promise<void> {
    return this.#listeners.checkKeys(this.#env.API_KEYS, (name) =>
      this.#logError(new Error(`The KV entry ${name} is not a key record`)),
    );
  }

  /** Checks the listeners. Never throws: after six retries, the platform would give up, and the alarm would be gone. */
  async alarm(): Promise<void> {
    try {
      const silentSince = Date.now() - SILENT_FOR;
      for (const key of this.#listeners.keys()) {
        if (key instanceof StreamListener) key.comment();
        else if ((this.#ctx.getWebSocketAutoResponseTimestamp(key)?.getTime() ?? Infinity) < silentSince)
          this.#listeners.refuse(key, "request_timeout");
      }
      await this.#checkKeys();
      if (this.#isEmpty) await this.#registration.end(() => this.#isEmpty);
      else {
        await this.#looks.now();
        await this.#registration.renew();
      }
    } catch (error) {
      this.#logError(error);
    } finally {
      if (!this.#isEmpty || this.#state.now.registeredAt > 0) await this.#registration.setAlarm();
    }
  }

  message(socket: WebSocket, message: string | ArrayBuffer): void {
    const listener = this.#listeners.get(socket);
    if (listener instanceof SocketListener && listener.ignore(message)) this.#listeners.end(socket, POLICY);
  }

  /** @param code of the client, which waits for an answer until its own limit. */
  closed(socket: WebSocket, code = NONE): void {
    this.#listeners.forget(socket);
    try {
      socket.close(code === NONE || code === BROKEN ? DONE : code);
    } catch {
      // It is closed.
    }
  }

  #logError(error: unknown): void {
    logFailure({ hub: this.#state.now.name }, error instanceof Error ? (error.cause ?? error) : error);
  }
}
