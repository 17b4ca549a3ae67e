import { type Answer, warningsOf } from "./answer.ts";
import type { Call, Connection, Memory } from "./connection.ts";
import { PetStoreError } from "./error.ts";
import { cacheControl, type ReadOptions, type RequestOptions } from "./options.ts";
import { type FieldsOf, fits } from "./fits.ts";
import { type Int64Input, toDigits } from "./int64.ts";
import { List } from "./list.ts";
import type { operations } from "./schema.ts";

/** Where requests go. Without a memory, each is on its own. */
export interface Scope {
  connection: Connection;
  memory: Memory | undefined;
}

/** Options of a creation. */
export interface CreateOptions extends RequestOptions {
  /** Names the creation or the change, so that it happens once. A new UUID unless given. Keep it to go on after a restart. */
  idempotencyKey?: string | undefined;
  /**
   * When `idempotencyKey` was used first. 23 hours later, nothing is sent: the call ends with the code `idempotency_key_expired`. Now,
   * unless given: give it with a key from an earlier run.
   */
  firstUsed?: Date | undefined;
}

/** Options of a deletion or a cancellation. */
export interface ChangeOptions extends RequestOptions {
  /** The `etag` of the version that the change applies to. Without it, the last change wins. */
  ifMatch?: string | undefined;
}

/** Options of an update. */
export type UpdateOptions = ChangeOptions & CreateOptions;

/** Options of a read of one resource. */
export interface GetOptions<Etag extends string | undefined = string | undefined> extends ReadOptions {
  /** The `etag` of the version that the program has. While it is the present one, the outcome has `notModified` and no resource. */
  ifNoneMatch?: Etag;
}

/** The outcome of a read of one resource: with `ifNoneMatch`, there may be nothing new. */
export type Got<Result, Etag> = [Etag] extends [never]
  ? Result & Versioned
  : Versioned & ((Result & { notModified: false }) | ({ [Name in keyof Result]?: undefined } & { notModified: true }));

/** A resource with its version. */
export interface Versioned {
  /** The version, for `ifMatch`. */
  etag: string;
}

/** The outcome of a creation or of an update, beside the resource. */
export interface Created extends Versioned {
  /** Whether an earlier attempt with this key made the change. The resource is then as that attempt left it. */
  replayed: boolean;
  /** The names of the fields that the request had and that the service ignored, 20 at most. */
  warnings: string[];
}

type Operation = keyof operations;

/** Milliseconds for which a key is used. The service forgets it after 24 hours, and would make the change again. */
const KEY_MILLISECONDS = 23 * 60 * 60 * 1_000;

/**
 * @param details of the error.
 * @throws PetStoreError `idempotency_key_expired` when the service may have forgotten the key.
 */
export function checkFirstUsed(
  firstUsed: Date,
  details: { idempotencyKey: string; created?: number; done?: number },
): void {
  // The clock may have been set back since. A time that is none of a Date is no reason to go on.
  if (Date.now() - firstUsed.getTime() < KEY_MILLISECONDS) return;
  const message =
    "The idempotency key was used first 23 hours ago or earlier. The service forgets it, so a change could happen twice. List what exists, and send the rest with a new key.";
  throw Object.assign(new PetStoreError("idempotency_key_expired", message), details);
}

/** The requests for the resources of one kind. The class of the kind names the operations, and this sends them. */
export class Resource<Name extends string, Item> {
  readonly #scope: Scope;
  readonly #path: string;
  readonly #name: Name;
  readonly #fields: FieldsOf<Item>;

  /** @param name of the resource in a result. */
  constructor(scope: Scope, path: string, name: Name, fields: FieldsOf<Item>) {
    this.#scope = scope;
    this.#path = path;
    this.#name = name;
    this.#fields = fields;
  }

  /**
   * The path of one.
   *
   * @throws RangeError when the id is no exact integer.
   */
  pathOf(id: Int64Input): string {
    return `${this.#path}/${toDigits(id)}`;
  }

  list<Listed>(operation: Operation, query: object, options: ReadOptions): List<Listed> {
    return new List({ ...this.#scope, path: this.#path, fields: this.#fields }, operation, query, options);
  }

  async get<Etag extends string | undefined>(
    operation: Operation,
    id: Int64Input,
    { ifNoneMatch, ...options }: GetOptions<Etag>,
  ): Promise<Got<Record<Name, Item>, Etag>> {
    const headers = { "Cache-Control": cacheControl(options), "If-None-Match": ifNoneMatch };
    const found = await this.#one({ ...options, operation, method: "GET", path: this.pathOf(id), headers });
    return { ...found, notModified: found[this.#name] === undefined };
  }

  /** The service creates once for each key, so that a creation can be repeated. */
  create(operation: Operation, body: object, options: CreateOptions): Promise<Created & Record<Name, Item>> {
    return this.#once({ operation, method: "POST", path: this.#path, body }, options);
  }

  /** The service applies a patch once for each key, so that an update can be repeated, with `ifMatch` too. */
  async change(
    operation: Operation,
    id: Int64Input,
    body: object,
    options: UpdateOptions,
  ): Promise<Created & Record<Name, Item>> {
    return this.#once({ operation, method: "PATCH", path: this.pathOf(id), body }, options);
  }

  async #once(
    request: Pick<Call, "operation" | "method" | "path" | "body">,
    { idempotencyKey = crypto.randomUUID(), firstUsed = new Date(), ifMatch, ...options }: UpdateOptions,
  ): Promise<Created & Record<Name, Item>> {
    checkFirstUsed(firstUsed, { idempotencyKey });
    const headers = { "Idempotency-Key": idempotencyKey, "If-Match": ifMatch };
    return this.#one({ ...options, ...request, headers }) as Promise<Created & Record<Name, Item>>;
  }

  /**
   * An id never names another resource, so that a deletion can be repeated.
   *
   * @param path of what is deleted.
   * @param deletes whether it is gone afterwards. A 404 after a lost response is then a success.
   */
  async remove(
    operation: Operation,
    path: string,
    { ifMatch, ...options }: ChangeOptions,
    deletes: boolean,
  ): Promise<void> {
    await this.send({ ...options, operation, method: "DELETE", path, deletes, headers: { "If-Match": ifMatch } });
  }

  /** Sends a request whose response is one resource. */
  async #one(call: Call): Promise<Versioned & Record<Name, Item>> {
    const { value, headers } = await this.send({ ...call, expects: fits(this.#fields) });
    const created = call.body && {
      replayed: headers.get("Idempotency-Replayed") === "true",
      warnings: warningsOf(headers),
    };
    return { [this.#name]: value, etag: headers.get("ETag") ?? "", ...created } as Versioned & Record<Name, Item>;
  }

  send(call: Call): Promise<Answer> {
    return this.#scope.connection.send(call, this.#scope.memory);
  }
}
