import { ApiError, ERRORS, toApiError } from "../errors.ts";
import { logFailure } from "../log/failure.ts";
import { type Audience, type Item, pageOf, pagesOf } from "./audience.ts";
import { Feed } from "./feed.ts";
import { POLICY, SocketListener, StreamListener } from "./listener.ts";
import { Listeners } from "./listeners.ts";
import { Looks } from "./looks.ts";
import { Memory } from "./memory.ts";
import { TOO_FAR } from "./refusals.ts";
import { Registration } from "./registration.ts";

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

/** Who wants to listen. */
export interface Visit {
  audience: Audience;
  /** The place after which it goes on. Null for the present one. */
  place: string | null;
  /** One page is all that there is. */
  as: "socket" | "stream" | "page";
}

/** What a hub keeps for the time after its hibernation, beside the attachments of its sockets. */
interface Kept {
  name: string;
  /** Up to where it has told its listeners. Empty before the first look. */
  place: string;
  /** Not used. Version 1.4.0 needs it after a rollback. */
  registeredAt: 0;
}
const KEPT = "live";

/** Tells its listeners each new event. It reads the feed once for all of them. */
export class Hub {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #name: string;
  readonly #listeners = new Listeners();
  readonly #feed: Feed;
  readonly #looks: Looks;
  readonly #registration: Registration;
  #place: string;
  #memory: Memory;
  /** Listeners that are about to be accepted. */
  #joining = 0;

  /** The hub that an object is, if it is one. */
  static of(ctx: DurableObjectState, env: Env): Hub | undefined {
    const kept = ctx.storage.kv.get<Kept>(KEPT);
    return kept && new Hub(ctx, env, kept.name, kept.place);
  }

  /** @param place up to where its listeners know the feed. */
  constructor(ctx: DurableObjectState, env: Env, name: string, place = "") {
    [this.#ctx, this.#env, this.#name, this.#feed] = [ctx, env, name, new Feed(env.DB)];
    for (const socket of ctx.getWebSockets()) this.#listeners.set(socket, new SocketListener(socket));
    // Without listeners, nobody needs what came since.
    this.#place = this.#isEmpty ? "" : place;
    this.#memory = new Memory(this.#place);
    this.#looks = new Looks(
      () => this.#look(),
      () => !this.#isEmpty,
      (error) => this.#logError(error),
    );
    this.#registration = new Registration(name, env, ctx, !this.#isEmpty, () => this.#looks.poll(UNKNOWN_FOR));
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** Tells that the feed has a new event. */
  async nudge(): Promise<void> {
    // Of an empty hub, it removes a row that a restore brought back. Of others, the platform may have given it up.
    await this.#registration.setAlarm();
    this.#looks.nudge();
  }

  get #isEmpty(): boolean {
    return this.#listeners.areGone && this.#joining === 0;
  }

  /** Responds to a request of `followLive`. A failure is a status with its code. */
  async connect(request: Request): Promise<Response> {
    this.#joining++;
    try {
      return await this.#join(JSON.parse(request.headers.get("x-visit") ?? "") as Visit);
    } catch (thrown) {
      const { code, message, cause } = toApiError(thrown);
      if (cause !== undefined) this.#logError(cause);
      return Response.json({ code, message }, { status: ERRORS[code].status });
    } finally {
      this.#joining--;
      void this.#looks.go();
    }
  }

  async #join({ audience, place, as }: Visit): Promise<Response> {
    const isPage = as === "page";
    if (!isPage) {
      // Also before it costs a read.
      this.#listeners.refuseMore(audience);
      await this.#registration.begin();
    }
    // Whoever asks once gets what is there now. Whoever stays gets it soon.
    if (isPage || this.#place === "" || Date.now() - this.#looks.startedAt > FRESH) await this.#looks.now();
    if (place !== null) {
      // It may have read on elsewhere. A look that runs already may not see that. The next one does.
      if (place > this.#place) await this.#looks.now();
      if (place > this.#place) await this.#looks.now();
      if (this.#memory.since(place) === undefined) {
        // After a restore, the look that runs begins another memory.
        await this.#looks.now();
        await this.#memory.recall(this.#feed);
      }
    }
    // No `await` from here to the end: the listener has to be at the place of the hub.
    const items = place === null ? [] : this.#memory.since(place);
    if (items === undefined) throw new ApiError("cursor_expired", TOO_FAR);
    const { bookmark } = this.#feed;
    const pages = pagesOf(items, audience, this.#place, bookmark, isPage);
    if (pages.length === 0) pages.push(pageOf([], this.#place, bookmark));
    if (isPage) return new Response(pages[0]?.text);
    this.#listeners.refuseMore(audience);
    if (as === "stream") {
      const listener = new StreamListener(audience, () => this.#listeners.delete(listener));
      this.#listeners.begin(listener, listener, pages);
      return new Response(listener.body);
    }
    const { 0: client, 1: socket } = new WebSocketPair();
    this.#ctx.acceptWebSocket(socket);
    this.#listeners.begin(socket, new SocketListener(socket, audience), pages);
    return new Response(null, { status: 101, webSocket: client });
  }

  /** Reads the feed to its end, and tells the listeners. */
  async #look(): Promise<void> {
    if (this.#place === "") await this.#begin();
    for (let more = true; more;) {
      const read = await this.#feed.after(this.#place);
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
    this.#keep(place);
  }

  #keep(place: string): void {
    this.#place = place;
    const kept: Kept = { name: this.#name, place, registeredAt: 0 };
    this.#ctx.storage.kv.put(KEPT, kept);
  }

  #tell(items: readonly Item[]): void {
    const place = items.at(-1)?.place ?? this.#place;
    this.#memory.add(items);
    this.#listeners.tell(items, place, this.#feed.bookmark);
    // After the messages, which would wait until it is durable.
    this.#keep(place);
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
      for (const [key, listener] of this.#listeners) {
        if (key instanceof StreamListener) key.comment();
        else if ((this.#ctx.getWebSocketAutoResponseTimestamp(key)?.getTime() ?? Infinity) < silentSince)
          this.#listeners.refuse(listener, "request_timeout");
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
      if (this.#registration.isKnown) await this.#registration.setAlarm();
    }
  }

  message(socket: WebSocket, message: string | ArrayBuffer): void {
    const listener = this.#listeners.get(socket);
    if (listener instanceof SocketListener && listener.ignore(message)) listener.end(POLICY, "");
  }

  /** @param code of the client, which waits for an answer until its own limit. */
  closed(socket: WebSocket, code = NONE): void {
    this.#listeners.delete(socket);
    try {
      socket.close(code === NONE || code === BROKEN ? DONE : code);
    } catch {
      // It is closed.
    }
  }

  #logError(error: unknown): void {
    logFailure({ hub: this.#name }, error instanceof Error ? (error.cause ?? error) : error);
  }
}
