import { createHash } from "node:crypto";
import type { Clock } from "./clock.ts";
import type { Namespace } from "./kv.ts";

/** An API key, and when it is good. */
export interface ApiKey {
  /** Its id, for the log. */
  name: string;
  secret: string;
  createdAt: number;
  expiresAt?: number;
  revokedAt?: number;
  /** A token in the place of the key. */
  token?: Token;
}

/** A customer token. */
export interface Token {
  customer: string;
  maxPlaced: number;
  expiresAt: number;
  /** That signed it. */
  secret: string;
}

/** What a key may do, but for some. */
export const SCOPES = ["pets:read", "pets:write", "store:read", "store:write", "events:read", "tokens:create"];

/** The operators' records of API keys, in the key store. */
export class Operators {
  readonly keys: ApiKey[] = [];
  readonly #clock: Clock;
  readonly #namespace: Namespace;
  readonly #generate: () => string;

  constructor(clock: Clock, namespace: Namespace, generate: () => string) {
    this.#clock = clock;
    this.#namespace = namespace;
    this.#generate = generate;
  }

  create(expiresAt?: number, scopes = SCOPES): ApiKey {
    const name = `key_${this.keys.length}`;
    const key = { name, secret: this.#generate(), createdAt: this.#clock.now, ...(expiresAt && { expiresAt }) };
    this.keys.push(key);
    this.#store(key, scopes);
    return key;
  }

  revoke(key: ApiKey): void {
    key.revokedAt = this.#clock.now;
    this.#store(key);
  }

  #store({ name, secret, createdAt, expiresAt, revokedAt }: ApiKey, scopes = SCOPES): void {
    const record = {
      id: name,
      name,
      scopes,
      createdAt: new Date(createdAt).toISOString(),
      ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
      ...(revokedAt !== undefined && { revokedAt: new Date(revokedAt).toISOString() }),
    };
    this.#namespace.put(`key:${createHash("sha256").update(secret).digest("hex")}`, JSON.stringify(record));
  }
}
