import { lookUpKeyOfHash } from "../auth/key-lookup.ts";
import { hasScope } from "../auth/scopes.ts";
import { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import { ApiError, type ErrorCode, ERRORS, toApiError } from "../errors.ts";
import { beginAt, placeAt, selectEnd } from "../feed/place.ts";
import { logFailure } from "../log/failure.ts";
import { type Audience, type Item, type Page, pageOf, pagesOf, sees } from "./audience.ts";
import { CLOSE, type Listener, POLICY, RESTART, SocketListener, StreamListener } from "./listener.ts";
import { FULL, TOO_FAR, TOO_MANY } from "./refusals.ts";
import { deleteHub, insertHub, selectFeed } from "./statements.ts";

/** Events of a read, at most. */
const PAGE = 200;
/** Events, and their characters, that a hub remembers for listeners that come back, and reads to find the place of one, at most. */
const [REMEMBERED, REMEMBERED_CHARACTERS, MAX_READS] = [1_000, 4 * 2 ** 20, 5];
/** Milliseconds between the starts of two looks, at least: changes in between become one page. */
const BETWEEN = 100;
/** Milliseconds after a nudge until a look that sees every change whose nudge an isolate has left out. */
const SECOND_LOOK = 150;
/** Milliseconds after the registration for which an isolate may not know the hub, and between looks meanwhile. */
const [UNKNOWN_FOR, POLL] = [12_000, 1_000];
/** Milliseconds after which a listener that comes has the hub look. */
const FRESH = 1_000;
/** Milliseconds between two checks of the listeners. */
const CHECK = 60_000;
/** Listeners of a hub, of an API key in it, and of a customer. */
export const MAX_LISTENERS = { hub: 2_000, key: 1_000, customer: 20 };
/** Close codes: none was sent, none could be sent, and all is done (RFC 6455, section 7.4.1). */
const [NONE, BROKEN, DONE] = [1005, 1006, 1000];
/** Milliseconds without a ping, after which a socket that has sent one is gone. */
const SILENT_FOR = 150_000;

/** What a hub keeps for the time after its hibernation. */
interface Kept {
  name: string;
  /** Up to where it has told its listeners. Empty before the first look. */
  place: string;
  /** The characters of all events that it has told. */
  told: number;
  /** When it was registered, in milliseconds since the epoch. 0 while it is not. */
  registeredAt: number;
}
const KEPT = "live";

/** Tells its listeners each new event. It reads the feed once for all of them. */
export class Hub {
  readonly #ctx: DurableObjectState;
  readonly #env: Env;
  readonly #listeners = new Map<WebSocket | StreamListener, Listener>();
  #kept: Kept;
  #bookmark: string | undefined;
  /** The newest events up to the place, without a gap, and the place before them. */
  #ring: Item[] = [];
  #before = "";
  /** Listeners that are about to be accepted. */
  #joining = 0;
  /** Registration and memory change one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #looking: Promise<void> | undefined;
  #lookedAt = 0;
  /** A look has to start after this time. */
  #lookAfter = 0;
  #next: { at: number; timer: ReturnType<typeof setTimeout> } | undefined;

  /** The hub that an object is, if it is one. */
  static of(ctx: DurableObjectState, env: Env): Hub | undefined {
    const kept = ctx.storage.kv.get<Kept>(KEPT);
    return kept && new Hub(ctx, env, kept);
  }

  constructor(ctx: DurableObjectState, env: Env, kept: Kept) {
    [this.#ctx, this.#env] = [ctx, env];
    for (const socket of ctx.getWebSockets()) this.#listeners.set(socket, SocketListener.restored(socket));
    this.#kept = this.#listeners.size > 0 ? kept : { ...kept, place: "" };
    this.#before = this.#kept.place;
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  /** A new one. */
  static named(ctx: DurableObjectState, env: Env, name: string): Hub {
    const kept = { name, place: "", told: 0, registeredAt: 0 };
    ctx.storage.kv.put(KEPT, kept);
    return new Hub(ctx, env, kept);
  }

  #keep(changed: Partial<Kept>): void {
    this.#kept = { ...this.#kept, ...changed };
    this.#ctx.storage.kv.put(KEPT, this.#kept);
  }

  /** Tells that the feed has a new event. */
  async nudge(): Promise<void> {
    // Of an empty hub, it removes a row that a restore brought back. Of others, the platform may have given it up.
    await this.#setAlarm();
    const now = Date.now();
    // Also for a listener that comes before then.
    this.#lookAfter = now + SECOND_LOOK;
    if (this.#isEmpty) return;
    this.#plan(now);
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
      this.#lookAgain();
    }
  }

  async #join(request: Request, audience: Audience, place: string | null): Promise<Response> {
    const isSocket = request.headers.get("Upgrade") === "websocket";
    const isStream = request.headers.get("Accept") === "text/event-stream";
    const stays = isSocket || isStream;
    if (stays) await this.#register();
    // Whoever asks once gets what is there now. Whoever stays gets it soon.
    if (!stays || this.#kept.place === "" || Date.now() - this.#lookedAt > FRESH) await this.#look();
    for (let tries = 0; tries < 3; tries++) {
      // No `await` from here to the end of the round: the listener has to be at the place of the hub.
      const items = place === null ? [] : this.#since(place);
      if (items !== undefined) {
        const pages = this.#firstPages(items, audience, !stays);
        if (!stays) return new Response(pages[0]?.text);
        this.#refuse(audience);
        return isSocket ? this.#accept(audience, pages) : this.#stream(audience, pages);
      }
      if (place !== null && !(await this.#inTurn(() => this.#recall(place)))) break;
    }
    throw new ApiError("cursor_expired", TOO_FAR);
  }

  /** @throws ApiError `rate_limited`, or `service_unavailable` when the hub is full. */
  #refuse({ keyId, customer }: Audience): void {
    let [ofKey, ofCustomer] = [0, 0];
    for (const { audience } of this.#listeners.values()) {
      if (audience.keyId !== keyId || (audience.customer === null) !== (customer === null)) continue;
      if (customer === null) ofKey++;
      else if (audience.customer === customer) ofCustomer++;
    }
    if (ofKey >= MAX_LISTENERS.key || ofCustomer >= MAX_LISTENERS.customer)
      throw new ApiError("rate_limited", TOO_MANY);
    if (this.#listeners.size >= MAX_LISTENERS.hub) throw full(this.#kept.name);
  }

  #accept(audience: Audience, pages: readonly Page[]): Response {
    const { 0: client, 1: socket } = new WebSocketPair();
    this.#ctx.acceptWebSocket(socket);
    const listener = SocketListener.accepted(socket, audience, this.#kept.told, pages);
    this.#listeners.set(socket, listener);
    for (const page of pages) listener.send(page);
    return new Response(null, { status: 101, webSocket: client });
  }

  #stream(audience: Audience, pages: readonly Page[]): Response {
    const listener = new StreamListener(audience, () => this.#listeners.delete(listener));
    this.#listeners.set(listener, listener);
    for (const page of pages) listener.send(page);
    return new Response(listener.body, { headers: { "Content-Type": "text/event-stream" } });
  }

  /**
   * The pages that bring a listener to the place of the hub. There is always one.
   *
   * @param more what each but the last says.
   */
  #firstPages(items: readonly Item[], audience: Audience, more: boolean): Page[] {
    const { place } = this.#kept;
    const seen = items.filter((item) => sees(audience, item));
    const pages = pagesOf(seen, place, this.#bookmark, more);
    return pages.length > 0 ? pages : [pageOf([], place, this.#bookmark)];
  }

  /** The events after a place that the hub remembers. */
  #since(place: string): Item[] | undefined {
    if (place === this.#kept.place) return [];
    if (place === this.#before) return this.#ring;
    const index = this.#ring.findIndex((item) => item.place === place);
    return index === -1 ? undefined : this.#ring.slice(index + 1);
  }

  /** Reads from a place to what the hub remembers, and remembers it too. Returns false when the place is too far, or not in the feed. */
  async #recall(place: string): Promise<boolean> {
    const items: Item[] = [];
    let at = place;
    for (let reads = 0; ; reads++) {
      // A read may overtake the hub, and so may what the listener has read elsewhere. A look that runs already may not see it. The next one does.
      for (let looks = 0; looks < 2 && at > this.#kept.place; looks++) await this.#look();
      const rest = this.#since(at);
      if (rest !== undefined) {
        // Of places that go further and further back, each would have the hub remember more.
        if (items.length + rest.length > 2 * REMEMBERED) return false;
        [this.#ring, this.#before] = [[...items, ...rest], place];
        return true;
      }
      if (reads === MAX_READS || items.length > REMEMBERED) return false;
      const read = await this.#read(at);
      if (read === undefined || read.items.length === 0) return false;
      items.push(...read.items);
      at = read.items.at(-1)?.place ?? at;
    }
  }

  /** What follows a place, and whether there may be more. Undefined when the feed does not have the place. */
  async #read(place: string): Promise<{ items: Item[]; more: boolean } | undefined> {
    const session = new Session(this.#env.DB, "first-primary");
    const rows = await session.read(selectFeed({ first: placeAt(place).id, limit: PAGE + 1 }));
    this.#bookmark = session.usage.bookmark ?? this.#bookmark;
    if (!beginAt(rows, placeAt(place))) return undefined;
    return { items: rows.slice(1), more: rows.length > PAGE || rows.at(-1)?.later === 1 };
  }

  /** Reads the feed to its end, and tells the listeners. */
  #look(): Promise<void> {
    return (this.#looking ??= this.#lookNow().finally(() => {
      this.#looking = undefined;
      this.#lookAgain();
    }));
  }

  #lookAgain(): void {
    if (!this.#isEmpty && this.#lookAfter > this.#lookedAt) this.#plan(this.#lookAfter);
  }

  async #lookNow(): Promise<void> {
    this.#lookedAt = Date.now();
    if (this.#kept.place === "") await this.#begin();
    for (let more = true; more;) {
      const read = await this.#read(this.#kept.place);
      if (read === undefined) return await this.#reset();
      if (read.items.length > 0) {
        await this.#checkKeys();
        this.#tell(read.items);
      }
      ({ more } = read);
    }
  }

  async #begin(): Promise<void> {
    const session = new Session(this.#env.DB, "first-primary");
    const [end] = await session.read(selectEnd({}));
    if (end === undefined) throw new Error("The feed is empty");
    this.#bookmark = session.usage.bookmark ?? this.#bookmark;
    [this.#ring, this.#before] = [[], end.place];
    this.#keep({ place: end.place });
  }

  /** The history is another one: all have to come back with their cursors. */
  async #reset(): Promise<void> {
    for (const key of this.#listeners.keys()) this.#end(key, RESTART, "");
    await this.#begin();
  }

  #tell(items: readonly Item[]): void {
    const end = items.at(-1)?.place ?? this.#kept.place;
    const all = items.reduce((sum, { event }) => sum + (event?.length ?? 0), 0);
    const told = this.#kept.told + all;
    this.#remember(items);
    const customers = new Set(items.map(({ customer }) => customer));
    const pages = new Map<string, Page[]>();
    for (const [key, listener] of this.#listeners) {
      const { audience, view } = listener;
      const id = audience.customer !== null && customers.has(audience.customer) ? `${view} ${audience.customer}` : view;
      let own = pages.get(id);
      if (own === undefined) {
        const seen = items.filter((item) => sees(audience, item));
        pages.set(id, (own = pagesOf(seen, end, this.#bookmark)));
      }
      for (const page of own) listener.send(page);
      if (listener.isFull(told)) this.#end(key, POLICY, "");
    }
    // After the messages, which would wait until it is durable.
    this.#keep({ place: end, told });
  }

  #remember(items: readonly Item[]): void {
    this.#ring.push(...items);
    let [over, characters] = [this.#ring.length - REMEMBERED, 0];
    for (let index = this.#ring.length - 1; index >= over && index >= 0; index--) {
      characters += this.#ring[index]?.event?.length ?? 0;
      if (characters > REMEMBERED_CHARACTERS) over = index + 1;
    }
    if (over > 0) this.#before = this.#ring.splice(0, over).at(-1)?.place ?? this.#before;
  }

  #end(key: WebSocket | StreamListener, code: number, reason: string): void {
    const listener = this.#listeners.get(key);
    this.#listeners.delete(key);
    listener?.end(code, reason);
  }

  /**
   * Ends those whose token has ended, and whose key is not what it was. Before every event: who may not read it any more must not see it for
   * longer than requests with the key are answered.
   *
   * @throws ApiError `service_unavailable` when KV cannot respond: nobody is told anything meanwhile.
   */
  async #checkKeys(): Promise<void> {
    const scopes = new Map<string, readonly string[] | undefined>();
    const onCorrupt = (name: string) => this.#logError(new Error(`The KV entry ${name} is not a key record`));
    for (const { audience } of this.#listeners.values())
      if (!scopes.has(audience.keyHash)) {
        const record = await lookUpKeyOfHash(this.#env.API_KEYS, audience.keyHash, onCorrupt);
        scopes.set(audience.keyHash, record?.scopes);
      }
    const now = Date.now();
    for (const [key, { audience }] of this.#listeners) {
      // One that came meanwhile was checked then.
      if (!scopes.has(audience.keyHash)) continue;
      const present = scopes.get(audience.keyHash);
      const isOver = present === undefined || (audience.until !== null && audience.until <= now);
      const lacks = audience.scopes.some((scope) => !hasScope(present ?? [], scope));
      const code: ErrorCode | undefined = isOver ? "unauthorized" : lacks ? "insufficient_scope" : undefined;
      if (code !== undefined) this.#end(key, CLOSE + ERRORS[code].status, code);
    }
  }

  /** A hub is registered for as long as it has listeners, before the first is answered. */
  #register(): Promise<void> {
    return this.#inTurn(async () => {
      if (this.#kept.registeredAt === 0) await this.#insert();
      await this.#setAlarm();
    });
  }

  /** Isolates may not know a new row yet. */
  async #insert(): Promise<void> {
    const [[isNew]] = await this.#write(insertHub({ name: this.#kept.name }));
    if (isNew === undefined && this.#kept.registeredAt > 0) return;
    this.#keep({ registeredAt: Date.now() });
    this.#poll();
  }

  async #setAlarm(): Promise<void> {
    const { storage } = this.#ctx;
    if ((await storage.getAlarm()) === null) await storage.setAlarm(Date.now() + CHECK);
  }

  #unregister(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.#isEmpty) return;
      // First: whoever comes meanwhile registers it again.
      this.#keep({ registeredAt: 0 });
      await this.#write(deleteHub({ name: this.#kept.name }));
    });
  }

  #write<Row>(statement: Statement<Row>): Promise<[Row[]]> {
    return new Session(this.#env.DB, undefined).writeRepeatably([statement]);
  }

  #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => {});
    return result;
  }

  /** Looks again and again, while isolates may not know the hub. Without a listener it waits for the next one. */
  #poll(): void {
    if (Date.now() - this.#kept.registeredAt >= UNKNOWN_FOR) return;
    setTimeout(() => {
      if (!this.#isEmpty) this.#plan(Date.now());
      this.#poll();
    }, POLL);
  }

  /** Looks at a time, or earlier. */
  #plan(time: number): void {
    const now = Date.now();
    // Soon, also when the clock was set back.
    const at = Math.min(Math.max(time, this.#lookedAt + BETWEEN), now + POLL);
    if (this.#next !== undefined) {
      if (this.#next.at <= at) return;
      clearTimeout(this.#next.timer);
    }
    const look = () => {
      this.#next = undefined;
      this.#look().catch((error: unknown) => {
        this.#logError(error);
        this.#plan(Date.now() + POLL);
      });
    };
    this.#next = { at, timer: setTimeout(look, at - now) };
  }

  /** Checks the listeners. Never throws: after six retries, the platform would give up, and the alarm would be gone. */
  async alarm(): Promise<void> {
    try {
      const silentSince = Date.now() - SILENT_FOR;
      for (const key of this.#listeners.keys()) {
        if (key instanceof StreamListener) key.comment();
        else if ((this.#ctx.getWebSocketAutoResponseTimestamp(key)?.getTime() ?? Infinity) < silentSince)
          this.#end(key, CLOSE + ERRORS.request_timeout.status, "request_timeout");
      }
      await this.#checkKeys();
      if (this.#isEmpty) await this.#unregister();
      else {
        await this.#look();
        // A restore of the database may have removed the row.
        await this.#insert();
      }
    } catch (error) {
      this.#logError(error);
    } finally {
      if (this.#kept.registeredAt > 0) await this.#setAlarm();
    }
  }

  message(socket: WebSocket, message: string | ArrayBuffer): void {
    const listener = this.#listeners.get(socket);
    if (listener instanceof SocketListener && listener.ignore(message)) this.#end(socket, POLICY, "");
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
    logFailure({ hub: this.#kept.name }, error instanceof Error ? (error.cause ?? error) : error);
  }
}

const full = (name: string) => new ApiError("service_unavailable", FULL, { cause: new Error(`${name} is full`) });
