import { and, asc, eq, inArray, lt, notExists, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Int64 } from "../int64.ts";
import { sha256 } from "../sha256.ts";
import { idempotencyKeys } from "./schema.ts";
import { compile, exact, queryBuilder } from "./statement.ts";

/**
 * One attempt at a creation under an `Idempotency-Key`. A creation that happens exactly once is three statements in one
 * transaction: the INSERT of the resource, on the condition `isFirstAttempt`; then `remember`; then `recall`, which tells
 * what the key stands for now, whichever attempt made it. They can be repeated any number of times.
 */
export interface Attempt extends Record<string, unknown> {
  apiKeyId: string;
  idempotencyKey: string;
  /** Of `fingerprintOf`. */
  fingerprint: string;
}

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
  return sha256(JSON.stringify([operationId, ...values]));
}

const parameter = sql.placeholder;

const isThisKey = and(
  eq(idempotencyKeys.apiKeyId, parameter("apiKeyId")),
  eq(idempotencyKeys.key, parameter("idempotencyKey")),
);

/** The condition of the INSERT: nothing was created under this key yet. */
export const isFirstAttempt = notExists(
  queryBuilder
    .select({ one: sql`1` })
    .from(idempotencyKeys)
    .where(isThisKey),
);

/**
 * Ties the key to the row that the statement before inserted, and keeps the response; when that inserted none, the key is tied
 * already.
 *
 * @param table the table of the resource.
 * @param id its primary key.
 * @param response SQL for the body of the response, from the inserted row.
 */
export function remember(table: SQLiteTable, id: SQLiteColumn, response: SQL<string>) {
  return compile<Attempt, never>(() =>
    queryBuilder.insert(idempotencyKeys).select(
      queryBuilder
        .select({
          id: sql`NULL`.as("id"),
          apiKeyId: sql`${parameter("apiKeyId")}`.as("apiKeyId"),
          key: sql`${parameter("idempotencyKey")}`.as("key"),
          fingerprint: sql`${parameter("fingerprint")}`.as("fingerprint"),
          response: response.as("response"),
          resourceId: sql<Int64>`${id}`.as("resourceId"),
          createdAt: sql<number>`unixepoch()`.as("createdAt"),
        })
        .from(table)
        .where(and(eq(id, sql`last_insert_rowid()`), sql`changes() = 1`)),
    ),
  );
}

/** What was created under the key, what was asked for then, and what the response was. */
export const recall = compile<Attempt, { fingerprint: string; resourceId: Int64; response: string | null }>(() =>
  queryBuilder
    .select({
      fingerprint: idempotencyKeys.fingerprint,
      resourceId: exact(idempotencyKeys.resourceId).as("resourceId"),
      response: idempotencyKeys.response,
    })
    .from(idempotencyKeys)
    .where(isThisKey),
);

/** Seconds for which a key is remembered at least. The job that removes older ones runs every hour. */
const LIFETIME_SECONDS = 24 * 60 * 60;
/** Rows that one run of `forgetOldest` looks at. */
const BATCH_SIZE = 1_000;

/** Removes the oldest keys that are past their life: reads no more than a batch, however many there are. */
const forgetOldest = compile<Record<string, never>, never>(() =>
  queryBuilder
    .delete(idempotencyKeys)
    .where(
      and(
        inArray(
          idempotencyKeys.id,
          queryBuilder
            .select({ id: idempotencyKeys.id })
            .from(idempotencyKeys)
            .orderBy(asc(idempotencyKeys.id))
            .limit(BATCH_SIZE),
        ),
        lt(idempotencyKeys.createdAt, sql`unixepoch() - ${LIFETIME_SECONDS}`),
      ),
    ),
);

/** Statements that one run sends at most. D1 allows 1,000 in an invocation of a Worker; what is left is for the next run. */
const MAX_BATCHES = 900;

/** Removes the keys that are past their life. Returns how many. */
export async function forgetExpiredKeys(database: D1Database): Promise<number> {
  const { sql: text, values } = forgetOldest({});
  const statement = database.prepare(text).bind(...values);
  let forgotten = 0;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const { meta } = await statement.run();
    if (meta.changes === 0) break;
    forgotten += meta.changes;
  }
  return forgotten;
}
