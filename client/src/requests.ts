import type { Answer } from "./answer.ts";
import type { Connection, Memory, RequestOptions } from "./connection.ts";
import { type Fields, fits } from "./fields.ts";
import type { operations } from "./schema.ts";

/** Where requests go. Without a memory, each is on its own. */
export interface Scope {
  connection: Connection;
  memory: Memory | undefined;
}

/** The same for the requests of one resource. */
export interface ResourceScope extends Scope {
  fields: Fields;
}

/** Options of a creation. */
export interface CreateOptions extends RequestOptions {
  /** Names the creation, so that it happens once. A new UUID unless given. Keep it to go on after a restart. */
  idempotencyKey?: string | undefined;
}

/** Options of a change. */
export interface ChangeOptions extends RequestOptions {
  /** The `etag` of the version that the change applies to. Without it, the last change wins. */
  ifMatch?: string | undefined;
}

/** A resource with its version. */
export interface Versioned {
  /** The version, for `ifMatch`. */
  etag: string;
}

/** The outcome of a creation, beside the resource. */
export interface Created extends Versioned {
  /** Whether an earlier attempt with this key created the resource. */
  replayed: boolean;
}

type Operation = keyof operations;

/** One version. A list of versions could also match the version that the lost attempt made. */
const ONE_VERSION = /^(?:W\/)?"[^",]*"$/;

export async function get<Item>(
  { connection, memory, fields }: ResourceScope,
  operation: Operation,
  path: string,
  { signal }: RequestOptions,
): Promise<Versioned & { item: Item }> {
  const call = { operation, method: "GET", path, repeatable: true, expects: fits(fields), signal } as const;
  return versioned(await connection.send(call, memory));
}

/** The service creates once for each key, so that a creation can be repeated. */
export async function create<Item>(
  { connection, memory, fields }: ResourceScope,
  operation: Operation,
  path: string,
  body: object,
  { idempotencyKey = crypto.randomUUID(), signal }: CreateOptions,
): Promise<Created & { item: Item }> {
  const headers = { "Idempotency-Key": idempotencyKey };
  const expects = fits(fields);
  const call = { operation, method: "POST", path, body, headers, repeatable: true, expects, signal } as const;
  const answer = await connection.send(call, memory);
  return { ...versioned<Item>(answer), replayed: answer.headers.get("Idempotency-Replayed") === "true" };
}

/**
 * A merge patch that runs twice may undo the change that somebody else made between the two.
 *
 * @param repeatable whether the change may run twice: for one version only, unless given.
 */
export async function change<Item>(
  { connection, memory, fields }: ResourceScope,
  operation: Operation,
  path: string,
  body: object,
  { ifMatch, signal }: ChangeOptions,
  repeatable = ONE_VERSION.test(ifMatch ?? ""),
): Promise<Versioned & { item: Item }> {
  const headers = { "If-Match": ifMatch };
  const call = { operation, method: "PATCH", path, body, headers, repeatable, expects: fits(fields), signal } as const;
  return versioned(await connection.send(call, memory));
}

/**
 * An id never names another resource, so that a deletion can be repeated.
 *
 * @param deletes whether the resource is gone afterwards. A 404 after a lost response is then a success.
 */
export async function remove(
  { connection, memory }: Scope,
  operation: Operation,
  path: string,
  { ifMatch, signal }: ChangeOptions,
  deletes: boolean,
): Promise<void> {
  const headers = { "If-Match": ifMatch };
  await connection.send({ operation, method: "DELETE", path, headers, repeatable: true, deletes, signal }, memory);
}

function versioned<Item>({ value, headers }: Answer): Versioned & { item: Item } {
  return { item: value as Item, etag: headers.get("ETag") ?? "" };
}
