import { lookUpKeyOfHash } from "../auth/key-lookup.ts";
import { hasScope } from "../auth/scopes.ts";
import { ApiError, type ErrorCode, ERRORS } from "../errors.ts";
import { type Audience, type Item, type Page, pagesOf, sees } from "./audience.ts";
import { CLOSE, type Listener, ownerOf, POLICY, RESTART, SocketListener, type StreamListener } from "./listener.ts";
import { FULL, TOO_MANY } from "./refusals.ts";

/**
 * Listeners of a hub, of an API key and of a customer, at most, and bytes that may wait for all of them, of the 128 MB of an object, and for each.
 * The last page of each may come on top.
 */
export const LIMITS = {
  hub: { listeners: 2_000 },
  key: { listeners: 1_000, bytes: 48 * 2 ** 20, each: 4 * 2 ** 20 },
  customer: { listeners: 20, bytes: 2 * 2 ** 20, each: 256 * 2 ** 10 },
};

const limitsOf = ({ customer }: Audience) => LIMITS[customer === null ? "key" : "customer"];

/** The listeners of a key or a customer. */
interface Held {
  open: number;
  leaving: number;
  /** What waits for those that are leaving. */
  bytes: number;
}

/** A stream is its own key. */
type Key = WebSocket | StreamListener;

/** Those whom a hub tells. */
export class Listeners extends Map<Key, Listener> {
  /** Those whose end their clients have not read. What waits for them stays in memory until they do, or are gone. */
  readonly #leaving = new Map<Key, Listener>();

  /** Takes in those that a hub had before. */
  restore(sockets: readonly WebSocket[]): void {
    for (const socket of sockets)
      (socket.readyState === WebSocket.OPEN ? this : this.#leaving).set(socket, new SocketListener(socket));
  }

  /** What each key and customer has now. */
  #held(): (owner: string) => Held {
    const all: Record<string, Held> = {};
    const of = (owner: string) => (all[owner] ??= { open: 0, leaving: 0, bytes: 0 });
    for (const { owner } of this.values()) of(owner).open++;
    for (const { owner, waiting } of this.#leaving.values()) {
      of(owner).leaving++;
      of(owner).bytes += waiting;
    }
    return of;
  }

  /** @throws ApiError `rate_limited`, or `service_unavailable` when there are too many of all. */
  refuseMore(audience: Audience): void {
    const held = this.#held()(ownerOf(audience));
    const { listeners, bytes } = limitsOf(audience);
    if (held.open + held.leaving >= listeners || held.bytes >= bytes) throw new ApiError("rate_limited", TOO_MANY);
    if (this.size + this.#leaving.size >= LIMITS.hub.listeners)
      throw new ApiError("service_unavailable", FULL, { cause: new Error("The hub is full") });
  }

  /** Takes one in, with its first pages. */
  begin(key: Key, listener: Listener, pages: readonly Page[]): void {
    this.set(key, listener);
    this.#send(key, listener, pages, this.#held());
  }

  /** What is too much, it gets when it comes back. */
  #send(key: Key, listener: Listener, pages: readonly Page[], heldOf: (owner: string) => Held): void {
    const { bytes, each } = limitsOf(listener.audience);
    const held = heldOf(listener.owner);
    // Each that is open has an equal part of what those that are leaving have left.
    const part = Math.min(each, (bytes - held.bytes) / held.open);
    for (const page of pages) {
      listener.send(page);
      if (listener.waiting > part * listener.share) return this.end(key, POLICY);
    }
  }

  /**
   * Tells each what it sees of the newest events.
   *
   * @param end the place after the events.
   */
  tell(items: readonly Item[], end: string, bookmark: string | undefined): void {
    const customers = new Set(items.map(({ customer }) => customer));
    const pages = new Map<string, Page[]>();
    const heldOf = this.#held();
    for (const [key, listener] of this) {
      const { audience } = listener;
      // The same for those that see the same. Most customers have no order among the events.
      const orders = audience.customer && (customers.has(audience.customer) ? audience.customer : "");
      const id = `${audience.types.join()} ${JSON.stringify(orders)}`;
      let own = pages.get(id);
      if (own === undefined) {
        const seen = items.filter((item) => sees(audience, item));
        pages.set(id, (own = pagesOf(seen, end, bookmark)));
      }
      this.#send(key, listener, own, heldOf);
    }
  }

  end(key: Key, code: number, reason = ""): void {
    const listener = this.get(key);
    if (listener === undefined) return;
    this.delete(key);
    this.#leaving.set(key, listener);
    listener.end(code, reason);
  }

  /** Its client has read its end, or is gone. */
  forget(key: Key): void {
    this.delete(key);
    this.#leaving.delete(key);
  }

  /** Ends it with the status of a failure, and its code. */
  refuse(key: Key, code: ErrorCode): void {
    this.end(key, CLOSE + ERRORS[code].status, code);
  }

  /** All have to come back with their cursors. */
  restart(): void {
    for (const key of this.keys()) this.end(key, RESTART);
  }

  /**
   * Ends those whose token has ended, and whose key is not what it was. Before every event: who may not read it any more must not see it for
   * longer than requests with the key are answered.
   *
   * @throws ApiError `service_unavailable` when KV cannot respond: nobody is told anything meanwhile.
   */
  async checkKeys(keys: KVNamespace, onCorrupt: (name: string) => void): Promise<void> {
    const hashes = new Set(this.values().map(({ audience }) => audience.keyHash));
    const lookUp = async (hash: string) => [hash, (await lookUpKeyOfHash(keys, hash, onCorrupt))?.scopes] as const;
    const scopes = new Map(await Promise.all([...hashes].map(lookUp)));
    const now = Date.now();
    for (const [key, { audience }] of this) {
      // One that came meanwhile was checked then.
      if (!scopes.has(audience.keyHash)) continue;
      const present = scopes.get(audience.keyHash);
      const isOver = present === undefined || (audience.until !== null && audience.until <= now);
      if (isOver) this.refuse(key, "unauthorized");
      else if (audience.scopes.some((scope) => !hasScope(present, scope))) this.refuse(key, "insufficient_scope");
    }
  }
}
