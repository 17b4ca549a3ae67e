import { createHash, createHmac } from "node:crypto";
import type { Session } from "../../client/src/index.ts";
import { CALLS } from "./calls.ts";
import type { Clients } from "./clients.ts";
import type { Clock } from "./clock.ts";
import type { ApiKey } from "./operators.ts";
import type { Random } from "./random.ts";
import { LOCATIONS } from "./service.ts";

/** Names with what a shop may not expect in one. */
export const CUSTOMERS = ["ada", "Ada", 'a"b\\c', "%41+&"];
/** How often a customer makes each call. */
const WEIGHTS = { placeOrder: 8, listOrders: 3, getOrder: 4, cancelOrder: 4, getKey: 1, listPets: 2, getPet: 1 };
/** The share of calls before which a customer gets a new token. Others use one that may have ended. */
const RENEWS = 0.2;
/** Seconds of a token. */
const LIFE = { least: 60, most: 1_200 };
/** Keys that customers use again, for another order too. */
const BASKETS = 6;
/** The share of calls that a page sends twice at once. */
const TWICE = 0.2;

/** Pages of customers. Each has a token in the place of a key, which the operators have made. */
export class Customers {
  readonly #clients: Clients;
  readonly #clock: Clock;
  readonly #keys: readonly ApiKey[];
  /** By key and customer. */
  readonly #pages = new Map<string, Session>();

  constructor(clients: Clients, clock: Clock, keys: readonly ApiKey[]) {
    this.#clients = clients;
    this.#clock = clock;
    this.#keys = keys;
  }

  /**
   * Lets a customer make a call.
   *
   * @param secret that signs tokens at present.
   * @param latest a key that may end.
   */
  call(random: Random, secret: string, latest: ApiKey | undefined): void {
    const key = latest !== undefined && random.chance(0.1) ? latest : random.pick(this.#keys);
    const customer = random.pick(CUSTOMERS);
    const place = `${key.name} ${customer}`;
    let page = this.#pages.get(place);
    if (page === undefined || random.chance(RENEWS)) {
      const token = tokenOf(this.#clock, key, customer, secret, random);
      page = this.#clients.start(random.between(0, LOCATIONS - 1), token, page?.bookmark);
      this.#pages.set(place, page);
    }
    const { prepare } = CALLS[random.weighted(WEIGHTS)] as (typeof CALLS)[string];
    const idempotencyKey = random.chance(0.5) ? random.uuid() : `basket-${random.between(1, BASKETS)}`;
    const prepared = prepare({ random, known: this.#clients.known, idempotencyKey, customer, customers: CUSTOMERS });
    const session = page;
    for (let count = random.chance(TWICE) ? 2 : 1; count > 0; count--)
      this.#clients.call(() => prepared(session)).catch(() => {});
  }
}

/** A token, made as the service makes it. */
export function tokenOf(
  { now }: Pick<Clock, "now">,
  key: ApiKey,
  customer: string,
  secret: string,
  random: Random,
  scopes: readonly string[] = ["pets:read", "orders:place", "orders:own"],
): ApiKey {
  const expiresAt = Math.floor(now / 1_000) + random.between(LIFE.least, LIFE.most);
  const maxPlaced = random.between(1, 4);
  const hash = createHash("sha256").update(key.secret).digest("hex");
  const payload = [hash, random.uuid(), expiresAt, scopes, customer, maxPlaced];
  const signed = `petstore_production_t_${Buffer.from(JSON.stringify(payload)).toString("base64url")}`;
  const mac = createHmac("sha256", secret).update(signed).digest("base64url");
  return { ...key, secret: `${signed}.${mac}`, token: { customer, maxPlaced, expiresAt: expiresAt * 1_000, secret } };
}
