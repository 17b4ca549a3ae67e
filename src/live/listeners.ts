import { lookUpKeyOfHash } from "../auth/key-lookup.ts";
import { hasScope } from "../auth/scopes.ts";
import { ApiError, type ErrorCode, ERRORS } from "../errors.ts";
import { type Audience, type Item, type Page, pagesOf } from "./audience.ts";
import { CLOSE, type Held, type Listener, POLICY, RESTART, type StreamListener } from "./listener.ts";
import { FULL, TOO_MANY } from "./refusals.ts";

/**
 * Listeners of an API key, of a customer and of a hub, at most, and the bytes that may wait for them in memory. A hub has little of its bytes
 * in memory: nothing tells how much was read long ago.
 */
export const LIMITS = {
  key: { listeners: 1_000, bytes: 48 * 2 ** 20 },
  customer: { listeners: 20, bytes: 2 * 2 ** 20 },
  hub: { listeners: 2_000, bytes: 128 * 2 ** 20 },
};
/** Times the bytes of a key or a customer: all of its listeners have to come back, and none may come. */
const MOST = 2;

const limitsOf = ({ customer }: Audience) => LIMITS[customer === null ? "key" : "customer"];

const ownerOf = ({ keyId, customer }: Audience) => (customer === null ? keyId : `${keyId} ${customer}`);

/** A stream is its own key. */
type Key = WebSocket | StreamListener;

/** Those whom a hub tells, and those whose end their clients have not read. */
export class Listeners extends Map<Key, Listener> {
  readonly #held = new Map<string, Held>();

  /** Whether it tells nobody. */
  get areGone(): boolean {
    return !this.values().some(({ isOpen }) => isOpen);
  }

  override set(key: Key, listener: Listener): this {
    const owner = ownerOf(listener.audience);
    const held = this.#held.get(owner) ?? listener.held;
    this.#held.set(owner, held);
    held.listeners++;
    listener.held = held;
    this.#count(listener);
    return super.set(key, listener);
  }

  /** Its client has read its end, or is gone. */
  override delete(key: Key): boolean {
    const listener = this.get(key);
    if (listener === undefined) return false;
    const { held, counted, audience } = listener;
    held.bytes -= counted;
    if (--held.listeners === 0) this.#held.delete(ownerOf(audience));
    return super.delete(key);
  }

  #count(listener: Listener): void {
    const { waiting, counted } = listener;
    listener.held.bytes += waiting - counted;
    listener.counted = waiting;
  }

  /** @throws ApiError `rate_limited`, or `service_unavailable` when there are too many of all. */
  refuseMore(audience: Audience): void {
    const held = this.#held.get(ownerOf(audience));
    const { listeners, bytes } = limitsOf(audience);
    if (held !== undefined && (held.listeners >= listeners || held.bytes > MOST * bytes))
      throw new ApiError("rate_limited", TOO_MANY);
    if (this.size >= LIMITS.hub.listeners)
      throw new ApiError("service_unavailable", FULL, { cause: new Error("The hub is full") });
  }

  /** Takes one in, with its first pages. */
  begin(key: Key, listener: Listener, pages: readonly Page[]): void {
    this.set(key, listener);
    this.#send(listener, pages);
  }

  /** What is too much, it gets when it comes back. */
  #send(listener: Listener, pages: readonly Page[]): void {
    const { held, audience, patience } = listener;
    const { bytes } = limitsOf(audience);
    // Each has an equal part of what its key or customer may have.
    const part = Math.min(bytes / held.listeners, LIMITS.hub.bytes / this.size) * patience;
    const isFull = () => listener.waiting > part || held.bytes > MOST * bytes;
    for (const page of pages) {
      if (isFull()) break;
      listener.send(page);
      this.#count(listener);
    }
    if (isFull()) listener.end(POLICY, "");
  }

  /**
   * Tells each what it sees of the newest events.
   *
   * @param end the place after the events.
   */
  tell(items: readonly Item[], end: string, bookmark: string | undefined): void {
    const customers = new Set(items.map(({ customer }) => customer));
    const pages = new Map<string, Page[]>();
    for (const listener of this.values()) {
      const { audience, isOpen } = listener;
      if (!isOpen) continue;
      // The same for those that see the same. Most customers have no order among the events.
      const orders = audience.customer && (customers.has(audience.customer) ? audience.customer : "");
      const view = JSON.stringify([audience.types, orders]);
      let own = pages.get(view);
      if (own === undefined) pages.set(view, (own = pagesOf(items, audience, end, bookmark)));
      this.#send(listener, own);
    }
  }

  /** Ends it with the status of a failure, and its code. */
  refuse(listener: Listener, code: ErrorCode): void {
    listener.end(CLOSE + ERRORS[code].status, code);
  }

  /** All have to come back with their cursors. */
  restart(): void {
    for (const listener of this.values()) listener.end(RESTART, "");
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
    for (const listener of this.values()) {
      const { keyHash, until, scopes: needed } = listener.audience;
      // One that came meanwhile was checked then.
      if (!scopes.has(keyHash)) continue;
      const present = scopes.get(keyHash);
      const isOver = present === undefined || (until !== null && until <= now);
      if (isOver) this.refuse(listener, "unauthorized");
      else if (needed.some((scope) => !hasScope(present, scope))) this.refuse(listener, "insufficient_scope");
    }
  }
}
