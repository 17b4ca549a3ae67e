import { and, eq, notExists, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import { sha256 } from "../hash/sha256.ts";
import { idempotencyKeys } from "./table.ts";

/**
 * One attempt at a creation under an `Idempotency-Key`. A creation that happens exactly once is three statements in one
 * transaction: the INSERT of the resource, on the condition `isFirstAttempt`; then `remember`; then a SELECT of what the key
 * stands for now, whichever attempt made it. They can be repeated any number of times.
 */
export interface Attempt {
  apiKeyId: string;
  idempotencyKey: string;
  /** Of `fingerprintOf`. */
  fingerprint: string;
}

/** Stands for an optional field that is left out before one that is not. No field has this value. */
const ABSENT = {};

/**
 * The SHA-256 of an operation and the whole of its validated request, so that the same request in other bytes is the same
 * request. A retry has to stay the same across a release that adds a field: a new field goes to the end of the schema and is
 * optional there, without a default. Left out, it then leaves no trace here.
 */
export async function fingerprintOf<Fields extends object>(
  operationId: string,
  { shape }: { shape: Fields },
  request: { [Field in keyof Fields]?: unknown },
): Promise<string> {
  const values = (Object.keys(shape) as (keyof Fields)[]).map((field) => request[field]);
  while (values.length > 0 && values.at(-1) === undefined) values.pop();
  return sha256(JSON.stringify([operationId, ...values.map((value) => (value === undefined ? ABSENT : value))]));
}

const isThisKey = (parameter: Parameter<Attempt>) =>
  and(eq(idempotencyKeys.apiKeyId, parameter("apiKeyId")), eq(idempotencyKeys.key, parameter("idempotencyKey")));

/** The condition of the INSERT: nothing was created under this key yet. */
export function isFirstAttempt(db: QueryBuilder, parameter: Parameter<Attempt>): SQL {
  return notExists(
    db
      .select({ one: sql`1` })
      .from(idempotencyKeys)
      .where(isThisKey(parameter)),
  );
}

/**
 * Ties the key to the row that the statement before inserted, and keeps the response. If it inserted no row, the key
 * already has one.
 *
 * @param table the table of the resource.
 * @param id its primary key.
 * @param response SQL for the body of the response, from the inserted row.
 */
export function remember(table: SQLiteTable, id: SQLiteColumn, response: SQL) {
  return compile((db, parameter: Parameter<Attempt>) =>
    db.insert(idempotencyKeys).select(
      db
        .select({
          id: sql`NULL`.as("id"),
          apiKeyId: sql`${parameter("apiKeyId")}`.as("apiKeyId"),
          key: sql`${parameter("idempotencyKey")}`.as("key"),
          fingerprint: sql`${parameter("fingerprint")}`.as("fingerprint"),
          response: response.as("response"),
          resourceId: sql`${id}`.as("resourceId"),
          createdAt: sql`unixepoch()`.as("createdAt"),
        })
        .from(table)
        .where(and(eq(id, sql`last_insert_rowid()`), sql`changes() = 1`)),
    ),
  );
}

/** What was created under the key, the request, and the response. */
const recall = compile((db, parameter: Parameter<Attempt>) =>
  db
    .select({
      fingerprint: idempotencyKeys.fingerprint,
      resourceId: exact(idempotencyKeys.resourceId).as("resourceId"),
      response: idempotencyKeys.response,
    })
    .from(idempotencyKeys)
    .where(isThisKey(parameter)),
);

/** The outcome of a creation. */
export interface Creation {
  id: Int64;
  /** The body of the first response under an `Idempotency-Key`. Without one, the request tells it. */
  response?: string | null;
  /** Whether an earlier attempt created the resource. */
  replayed?: boolean;
}

/**
 * Creates a resource without an `Idempotency-Key`.
 *
 * @param consequences statements of the same transaction, each on the condition that the one before changed one row.
 * @returns the inserted row, or undefined when the INSERT has a condition that does not hold.
 */
export async function create<Row extends { id: Int64 }>(
  session: Session,
  insert: Statement<Row>,
  ...consequences: Statement<never>[]
): Promise<Row | undefined> {
  const [[inserted]] = await session.writeOnce([insert, ...consequences]);
  return inserted;
}

/**
 * Creates a resource once, in one round trip: when an earlier request with this key did, it returns the response to that.
 *
 * @param insert the INSERT on the condition `isFirstAttempt`.
 * @param remembered the statement of `remember`.
 * @param consequences as for `create`.
 * @returns undefined when the INSERT has a condition of its own that does not hold. The key is then as new as before.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function createOnce(
  session: Session,
  attempt: Attempt,
  insert: Statement<{ id: Int64 }>,
  remembered: Statement<never>,
  ...consequences: Statement<never>[]
): Promise<Creation | undefined> {
  const statements = [insert, remembered, recall(attempt), ...consequences] as const;
  const [[inserted], , [known]] = await session.writeRepeatably(statements);
  if (known === undefined) return undefined;
  if (known.fingerprint !== attempt.fingerprint) {
    throw new ApiError("idempotency_key_reused", "This Idempotency-Key was used for another request.");
  }
  return { id: known.resourceId, response: known.response, replayed: inserted === undefined };
}
