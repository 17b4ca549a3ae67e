import { and, eq, notExists, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Attempt } from "./attempt.ts";
import { idempotencyKeys } from "./table.ts";

/** A table whose rows count their changes. */
export type Versioned = SQLiteTable & { id: SQLiteColumn; version: SQLiteColumn };

const isThisKey = (parameter: Parameter<Attempt>) =>
  and(eq(idempotencyKeys.apiKeyId, parameter("apiKeyId")), eq(idempotencyKeys.key, parameter("idempotencyKey")));

/** The condition that the key is unused. */
export function isUnknown(db: QueryBuilder, parameter: Parameter<Attempt>): SQL {
  return notExists(
    db
      .select({ one: sql`1` })
      .from(idempotencyKeys)
      .where(isThisKey(parameter)),
  );
}

/** The id of the row that the key created. */
export function createdId(db: QueryBuilder, parameter: Parameter<Attempt>): SQL {
  const entry = db.select({ id: idempotencyKeys.resourceId }).from(idempotencyKeys).where(isThisKey(parameter));
  return sql`${entry}`;
}

/**
 * The INSERT that stores the key with the row that it created or changed, and with the response: its body and the version in
 * its `ETag`.
 *
 * @param response SQL for the body.
 * @param where selects the row, under the condition that it is to be remembered.
 * @param having makes one entry of several rows, with the last id, under this condition.
 */
export function remember(
  db: QueryBuilder,
  parameter: Parameter<Attempt>,
  table: Versioned,
  response: SQL<string>,
  where: SQL | undefined,
  having?: SQL,
) {
  const row = {
    id: sql`NULL`.as("id"),
    apiKeyId: sql`${parameter("apiKeyId")}`.as("apiKeyId"),
    key: sql`${parameter("idempotencyKey")}`.as("key"),
    fingerprint: sql`${parameter("fingerprint")}`.as("fingerprint"),
    response: response.as("response"),
    resourceId: (having === undefined ? sql`${table.id}` : sql`max(${table.id})`).as("resourceId"),
    createdAt: sql`unixepoch()`.as("createdAt"),
    version: sql`${table.version}`.as("version"),
  };
  return db.insert(idempotencyKeys).select(db.select(row).from(table).where(where).having(having));
}

/** The entry of a key: its request and the first response. */
export interface Memory {
  fingerprint: string;
  resourceId: Int64;
  /** The body. Null when a version before migration 0002 stored the key. */
  response: string | null;
  /** Null when a version before migration 0005 stored the key. Such a key is that of a creation. */
  version: number | null;
}

/** The SELECT of the entry of the key, from this attempt or an earlier one. */
export const recall = compile((db, parameter: Parameter<Attempt>) =>
  db
    .select({
      fingerprint: idempotencyKeys.fingerprint,
      resourceId: exact(idempotencyKeys.resourceId).as("resourceId"),
      response: idempotencyKeys.response,
      version: idempotencyKeys.version,
    })
    .from(idempotencyKeys)
    .where(isThisKey(parameter)),
);

/** @throws ApiError `idempotency_key_reused` when the key came with another request. */
export function checkRequest({ fingerprint }: Memory, attempt: Attempt): void {
  if (fingerprint !== attempt.fingerprint) {
    throw new ApiError("idempotency_key_reused", "This Idempotency-Key was used for another request.");
  }
}
