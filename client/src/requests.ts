import type { Answer } from "./answer.ts";
import type { Call, Connection, Memory, RequestOptions } from "./connection.ts";
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
  /** Names the creation or the change, so that it happens once. A new UUID unless given. Keep it to go on after a restart. */
  idempotencyKey?: string | undefined;
}

/** Options of a deletion or a cancellation. */
export interface ChangeOptions extends RequestOptions {
  /** The `etag` of the version that the change applies to. Without it, the last change wins. */
  ifMatch?: string | undefined;
}

/** Options of an update. */
export type UpdateOptions = ChangeOptions & CreateOptions;

/** A resource with its version. */
export interface Versioned {
  /** The version, for `ifMatch`. */
  etag: string;
}

/** The outcome of a creation or of an update, beside the resource. */
export interface Created extends Versioned {
  /** Whether an earlier attempt with this key made the change. The resource is then as that attempt left it. */
  replayed: boolean;
}

type Operation = keyof operations;

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
  scope: ResourceScope,
  operation: Operation,
  path: string,
  body: object,
  options: CreateOptions,
): Promise<Created & { item: Item }> {
  return once(scope, { operation, method: "POST", path, body }, {}, options);
}

/** The service applies a patch once for each key, so that an update can be repeated, with `ifMatch` too. */
export async function change<Item>(
  scope: ResourceScope,
  operation: Operation,
  path: string,
  body: object,
  { ifMatch, ...options }: UpdateOptions,
): Promise<Created & { item: Item }> {
  return once(scope, { operation, method: "PATCH", path, body }, { "If-Match": ifMatch }, options);
}

async function once<Item>(
  { connection, memory, fields }: ResourceScope,
  request: Pick<Call, "operation" | "method" | "path" | "body">,
  conditions: { [header: string]: string | undefined },
  { idempotencyKey = crypto.randomUUID(), signal }: CreateOptions,
): Promise<Created & { item: Item }> {
  const headers = { "Idempotency-Key": idempotencyKey, ...conditions };
  const call = { ...request, headers, repeatable: true, expects: fits(fields), signal };
  const answer = await connection.send(call, memory);
  return { ...versioned<Item>(answer), replayed: answer.headers.get("Idempotency-Replayed") === "true" };
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
