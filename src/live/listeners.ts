import { lookUpKeyOfHash } from "../auth/key-lookup.ts";
import { hasScope } from "../auth/scopes.ts";
import { ApiError, type ErrorCode, ERRORS } from "../errors.ts";
import { type Audience, type Item, type Page, pagesOf, sees } from "./audience.ts";
import { CLOSE, type Listener, POLICY, RESTART, type StreamListener } from "./listener.ts";
import { FULL, TOO_MANY } from "./refusals.ts";

/** Listeners of a hub, of an API key in it, and of a customer. */
export const MAX_LISTENERS = { hub: 2_000, key: 1_000, customer: 20 };

/** A stream is its own key. */
type Key = WebSocket | StreamListener;

/** Those whom a hub tells. */
export class Listeners extends Map<Key, Listener> {
  /** @throws ApiError `rate_limited`, or `service_unavailable` when there are too many of all. */
  refuseMore({ keyId, customer }: Audience): void {
    let [ofKey, ofCustomer] = [0, 0];
    for (const { audience } of this.values()) {
      if (audience.keyId !== keyId || (audience.customer === null) !== (customer === null)) continue;
      if (customer === null) ofKey++;
      else if (audience.customer === customer) ofCustomer++;
    }
    if (ofKey >= MAX_LISTENERS.key || ofCustomer >= MAX_LISTENERS.customer)
      throw new ApiError("rate_limited", TOO_MANY);
    if (this.size >= MAX_LISTENERS.hub)
      throw new ApiError("service_unavailable", FULL, { cause: new Error("The hub is full") });
  }

  /**
   * Tells each what it sees of the newest events, and ends those that have got too much.
   *
   * @param end the place after the events.
   * @param told the characters of all events that the hub has ever told, these included.
   */
  tell(items: readonly Item[], end: string, bookmark: string | undefined, told: number): void {
    const customers = new Set(items.map(({ customer }) => customer));
    const pages = new Map<string, Page[]>();
    for (const [key, listener] of this) {
      const { audience, view } = listener;
      const id = audience.customer !== null && customers.has(audience.customer) ? `${view} ${audience.customer}` : view;
      let own = pages.get(id);
      if (own === undefined) {
        const seen = items.filter((item) => sees(audience, item));
        pages.set(id, (own = pagesOf(seen, end, bookmark)));
      }
      for (const page of own) listener.send(page);
      if (listener.isFull(told)) this.end(key, POLICY);
    }
  }

  end(key: Key, code: number, reason = ""): void {
    const listener = this.get(key);
    this.delete(key);
    listener?.end(code, reason);
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
    const scopes = new Map<string, readonly string[] | undefined>();
    for (const { audience } of this.values())
      if (!scopes.has(audience.keyHash)) {
        const record = await lookUpKeyOfHash(keys, audience.keyHash, onCorrupt);
        scopes.set(audience.keyHash, record?.scopes);
      }
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
