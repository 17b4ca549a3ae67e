import { and, eq, notExists, type SQL, sql } from "drizzle-orm";
import type { Resource } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import type { Attempt } from "./attempt.ts";
import { idempotencyKeys } from "./table.ts";

/** The parameters of an attempt. All are null without a key, which no entry equals. */
export type Once = { [Name in keyof Attempt]: string | null };
export const NO_ATTEMPT: Once = { apiKeyId: null, idempotencyKey: null, fingerprint: null };

const isThisKey = (parameter: Parameter<Once>) =>
  and(eq(idempotencyKeys.apiKeyId, parameter("apiKeyId")), eq(idempotencyKeys.key, parameter("idempotencyKey")));

/** The condition that the key is unused. */
export function isUnused(db: QueryBuilder, parameter: Parameter<Once>): SQL {
  return notExists(
    db
      .select({ one: sql`1` })
      .from(idempotencyKeys)
      .where(isThisKey(parameter)),
  );
}

/** The id in the entry of the key: of the row that it created. */
export function idInEntry(db: QueryBuilder, parameter: Parameter<Once>): SQL {
  const entry = db.select({ id: idempotencyKeys.resourceId }).from(idempotencyKeys).where(isThisKey(parameter));
  return sql`${entry}`;
}

/** What makes one entry of several rows, with the last id. */
export interface SeveralRows {
  /** SQL for the body. */
  body: SQL<string>;
  having: SQL;
  /** The rows under the name of the table, if the change comes later. */
  from?: SQL;
}

/**
 * The INSERT of the entry of a key: the row that it created or changed, and the response, which is its body and the version in its
 * `ETag`.
 *
 * @param where selects the row, under the condition that its change is to be stored.
 */
export function insertEntry<Body>(
  db: QueryBuilder,
  parameter: Parameter<Once>,
  { table, body }: Resource<Body>,
  where: SQL | undefined,
  several?: SeveralRows,
) {
  const row = {
    id: sql`NULL`.as("id"),
    apiKeyId: sql`${parameter("apiKeyId")}`.as("apiKeyId"),
    key: sql`${parameter("idempotencyKey")}`.as("key"),
    fingerprint: sql`${parameter("fingerprint")}`.as("fingerprint"),
    response: (several?.body ?? body()).as("response"),
    resourceId: (several === undefined ? sql`${table.id}` : sql`max(${table.id})`).as("resourceId"),
    createdAt: sql`unixepoch()`.as("createdAt"),
    version: sql`${table.version}`.as("version"),
  };
  const from = several?.from ?? sql`${table}`;
  return db.insert(idempotencyKeys).select(db.select(row).from(from).where(where).having(several?.having));
}

/** The entry of a key: its request and the first response. */
export interface Entry {
  fingerprint: string;
  resourceId: Int64;
  /** The body. */
  response: Json<never>;
  version: number;
}

/** The SELECT of the entry of the key, from this attempt or an earlier one. */
export const selectEntry = compile<Attempt, Entry[]>("idempotency.entry", (db, parameter: Parameter<Once>) =>
  db
    .select({
      fingerprint: idempotencyKeys.fingerprint,
      resourceId: exact(idempotencyKeys.resourceId).as("resourceId"),
      response: sql<Json<never>>`${idempotencyKeys.response}`.as("response"),
      version: sql<number>`${idempotencyKeys.version}`.as("version"),
    })
    .from(idempotencyKeys)
    .where(isThisKey(parameter)),
);

export const KEY_REUSED =
  "This Idempotency-Key was used for another request. Give the header Idempotency-Key a new value to send this one.";

/** @throws ApiError `idempotency_key_reused` when the key came with another request. */
export function checkRequest({ fingerprint }: Entry, attempt: Attempt): void {
  if (fingerprint !== attempt.fingerprint) {
    throw new ApiError("idempotency_key_reused", KEY_REUSED);
  }
}
