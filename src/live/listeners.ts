import { lookUpKeyOfHash } from "../auth/key-lookup.ts";
import { hasScope } from "../auth/scopes.ts";
import { ApiError, type ErrorCode, ERRORS } from "../errors.ts";
import { type Audience, type Item, type Page, pagesOf, sees } from "./audience.ts";
import { CLOSE, type Listener, POLICY, RESTART, SocketListener, type StreamListener } from "./listener.ts";
import { FULL, TOO_MANY } from "./refusals.ts";

/** Listeners of a hub, of an API key in it, and of a customer. */
export const MAX_LISTENERS = { hub: 2_000, key: 1_000, customer: 20 };

/** A stream is its own key. */
type Key = WebSocket | StreamListener;

/** Those whom a hub tells. */
export class Listeners extends Map<Key, Listener> {
  /** Those whose end their clients have not read. What waits for them stays in memory until they do, or are gone. */
  readonly #leaving = new Map<Key, Listener>();

  /** Takes in those that a hub had before. */
  restore(sockets: readonly WebSocket[]): void {
    for (const socket of sockets)
      (socket.readyState === WebSocket.OPEN ? this : this.#leaving).set(socket, SocketListener.restored(socket));
  }

  /** @throws ApiError `rate_limited`, or `service_unavailable` when there are too many of all. */
  refuseMore({ keyId, customer }: Audience): void {
    let [ofKey, ofCustomer] = [0, 0];
    const all = [...this.values(), ...this.#leaving.values()];
    for (const { audience } of all) {
      if (audience.keyId !== keyId || (audience.customer === null) !== (customer === null)) continue;
      if (customer === null) ofKey++;
      else if (audience.customer === customer) ofCustomer++;
    }
    if (ofKey >= MAX_LISTENERS.key || ofCustomer >= MAX_LISTENERS.customer)
      throw new ApiError("rate_limited", TOO_MANY);
    if (all.length >= MAX_LISTENERS.hub)
      throw new ApiError("service_unavailable", FULL, { cause: new Error("The hub is full") });
  }

  /** Takes one in, with its first pages. */
  begin(key: Key, listener: Listener, pages: readonly Page[]): void {
    this.set(key, listener);
    this.#send(key, listener, pages);
  }

  /** What is too much, it gets when it comes back. */
  #send(key: Key, listener: Listener, pages: readonly Page[]): void {
    for (const page of pages) {
      listener.send(page);
      if (listener.isFull) return this.end(key, POLICY);
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
      this.#send(key, listener, own);
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
    const hashes = new Set([...this.values()].map(({ audience }) => audience.keyHash));
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
