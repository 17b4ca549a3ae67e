import { Categories } from "./categories.ts";
import { type Call, Connection, type Memory } from "./connection.ts";
import { Events } from "./events.ts";
import * as fields from "./fields.ts";
import { fits } from "./fits.ts";
import type { PetStoreOptions, RequestOptions } from "./options.ts";
import { Orders } from "./orders.ts";
import { Pets } from "./pets.ts";
import type { Scope } from "./requests.ts";
import type { Key, NewToken, Token } from "./shapes.ts";
import { Webhooks } from "./webhooks.ts";

export type { Session };
export type { Fetch } from "./attempt.ts";
export type {
  CreateManyOptions,
  Progress,
  UpdateManyOptions,
  UpdateProgress,
  UpsertManyOptions,
  UpsertProgress,
} from "./batches.ts";
export type { Categories } from "./categories.ts";
export { type ClientErrorCode, PetStoreError, type PetStoreErrorCode, type ServiceErrorCode } from "./error.ts";
export type { EventPage, EventQuery, Events, FollowOptions } from "./events.ts";
export type { Int64Input } from "./int64.ts";
export type { List, Page } from "./list.ts";
export type { Attempt, Deprecation, PetStoreOptions, ReadOptions, RequestOptions } from "./options.ts";
export type { Orders } from "./orders.ts";
export type { Pets } from "./pets.ts";
export type { ChangeOptions, Created, CreateOptions, GetOptions, Got, UpdateOptions, Versioned } from "./requests.ts";
export type { RetryPolicy } from "./retry.ts";
export type * from "./shapes.ts";
export {
  type VerifyOptions,
  verifyWebhook,
  type WebhookHeaders,
  type WebhookVerificationCode,
  WebhookVerificationError,
} from "./verify-webhook.ts";
export type { DeliveryPage, DeliveryQuery, Webhooks } from "./webhooks.ts";

/** Every operation of the service. */
class Resources {
  readonly #scope: Scope;
  readonly pets: Pets;
  readonly categories: Categories;
  readonly orders: Orders;
  readonly events: Events;
  readonly webhooks: Webhooks;

  constructor(scope: Scope) {
    this.#scope = scope;
    this.pets = new Pets(scope);
    this.categories = new Categories(scope);
    this.orders = new Orders(scope);
    this.events = new Events(scope);
    this.webhooks = new Webhooks(scope);
  }

  /**
   * Describes the key of this client: its id, its name, its scopes and its expiry, if it has one.
   *
   * @beta
   */
  async key(options: RequestOptions = {}): Promise<Key> {
    return this.#send({ ...options, operation: "getKey", method: "GET", path: "/key", expects: fits(fields.Key) });
  }

  /**
   * Creates a token for the browser or the phone of a customer, who reaches their own orders alone.
   *
   * @beta
   */
  async token(token: NewToken, options: RequestOptions = {}): Promise<Token> {
    const expects = fits(fields.Token);
    return this.#send({
      ...options,
      operation: "createToken",
      method: "POST",
      path: "/key/tokens",
      body: token,
      expects,
    });
  }

  async #send<Value>(call: Call): Promise<Value> {
    const { connection, memory } = this.#scope;
    return (await connection.send(call, memory)).value as Value;
  }
}

/** The Pet Store Service. A read may come from a replica that lags behind. `session()` reads its own writes. */
export class PetStore extends Resources {
  readonly #connection: Connection;

  constructor(options: PetStoreOptions) {
    const connection = new Connection(options);
    super({ connection, memory: undefined });
    this.#connection = connection;
  }

  /**
   * Starts a session. Each of its requests sees at least everything that its earlier requests saw or wrote.
   *
   * @param bookmark of an earlier session, or of another client: this session then goes on from there.
   */
  session(bookmark?: string): Session {
    return new Session(this.#connection, bookmark);
  }
}

/** Requests that see each other's writes, in every location. */
class Session extends Resources {
  readonly #memory: Memory;

  /** Use `PetStore.session()`. */
  constructor(connection: Connection, bookmark: string | undefined) {
    const memory = { bookmark };
    super({ connection, memory });
    this.#memory = memory;
  }

  /** The state of the database that this session saw last, for `session(bookmark)`. Undefined before the first response. */
  get bookmark(): string | undefined {
    return this.#memory.bookmark;
  }
}
