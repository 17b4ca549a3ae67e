import { and, eq, getTableColumns, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Attempt } from "./attempt.ts";
import { ifChanged, insertEvents } from "./event.ts";
import { checkRequest, createdId, isUnknown, recall, remember, type Versioned } from "./memory.ts";
import type { EventType } from "./table.ts";

/** All columns of a new row except the id, which SQLite assigns, and the version, which is 1. A missing column does not compile. */
export type NewRow<Table extends Versioned> = {
  [Column in Exclude<keyof Table["_"]["columns"], "id" | "version">]: SQLWrapper;
};

/** The columns of an INSERT ... SELECT of a new row, in the order of the table, as drizzle requires. */
export function columnsOf<Table extends Versioned>(table: Table, values: NewRow<Table>) {
  const all: { [column: string]: SQLWrapper } = { ...values, id: sql`NULL`, version: sql`1` };
  return Object.fromEntries(
    Object.keys(getTableColumns(table)).map((column) => [column, sql`${all[column]}`.as(column)]),
  );
}

/** The row that a creation inserts. */
interface Insertion<Table extends Versioned> {
  values: NewRow<Table>;
  /** The table that the values come from, if any. */
  from?: SQLiteTable;
  /** The condition of the insertion. The same statement checks it, so that no race is possible. */
  where?: SQL | undefined;
}

/**
 * Compiles the statements of a creation: the INSERT and its event. With an `Idempotency-Key`, it is a transaction that can be
 * repeated any number of times: the INSERT, unless the key is known; `remember`; the event; and `recall`, a SELECT of the entry of
 * the key, from this attempt or an earlier one.
 *
 * @param type of the event.
 * @param response SQL for the body of the response, and for the data of the event.
 * @param insertion the row, from the parameters of the request.
 */
export function compileCreation<Table extends Versioned, Fields extends object>(
  table: Table,
  type: EventType,
  response: () => SQL<string>,
  insertion: (db: QueryBuilder, parameter: Parameter<Fields>) => Insertion<Table>,
) {
  const insert = (db: QueryBuilder, parameter: Parameter<Fields>, condition?: SQL) => {
    const { values, from = sql`(SELECT 1)`, where } = insertion(db, parameter);
    const conditions = and(where, condition);
    const into = db.insert(table);
    // A SELECT would read one row more than VALUES.
    return conditions === undefined
      ? into.values(values as never)
      : into.select(db.select(columnsOf(table, values)).from(from).where(conditions) as never);
  };
  const id = () => exact(table.id).as("id");
  // The row that the previous statement inserted, if it inserted one.
  const isInserted = () => eq(table.id, ifChanged(sql`last_insert_rowid()`));
  return {
    insert: compile((db, parameter: Parameter<Fields>) =>
      insert(db, parameter).returning({ id: id(), response: response().as("response") }),
    ),
    insertOnce: compile((db, parameter: Parameter<Fields & Attempt>) =>
      insert(db, parameter, isUnknown(db, parameter)).returning({ id: id() }),
    ),
    record: compile((db) => insertEvents(db, type, table, response(), isInserted())),
    // If nothing was inserted, the key already has an entry.
    remember: compile((db, parameter: Parameter<Attempt>) => remember(db, parameter, table, response(), isInserted())),
    // After `remember`, which changed `last_insert_rowid()`.
    recordOnce: compile((db, parameter: Parameter<Attempt>) =>
      insertEvents(db, type, table, response(), eq(table.id, ifChanged(createdId(db, parameter)))),
    ),
  };
}

type CompiledCreation<Fields extends object> = ReturnType<typeof compileCreation<Versioned, Fields>>;

/** The outcome of a creation. */
export interface Creation {
  id: Int64;
  /** The body of the first response. Null when a version before migration 0002 stored the key. */
  response: string | null;
  /** Whether an earlier attempt created the resource. */
  replayed: boolean;
}

/**
 * Creates a resource in one round trip. With an `Idempotency-Key`, it is created once: when an earlier request with this key
 * created it, the outcome is the earlier one.
 *
 * @param fields the parameters of the insertion.
 * @param attempt undefined without an `Idempotency-Key`.
 * @param consequences statements of the same transaction. Each runs only if the previous one changed one row.
 * @returns undefined when the condition of the insertion does not hold. The key then remains unused.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function create<Fields extends object>(
  session: Session,
  { insert, insertOnce, record, recordOnce, remember }: CompiledCreation<Fields>,
  fields: Fields,
  attempt: Attempt | undefined,
  ...consequences: Statement<never>[]
): Promise<Creation | undefined> {
  if (attempt === undefined) {
    const [[inserted]] = await session.writeOnce([insert(fields), record({}), ...consequences]);
    return inserted && { ...inserted, replayed: false };
  }
  const insertion = insertOnce({ ...fields, ...attempt });
  const statements = [insertion, remember(attempt), recordOnce(attempt), recall(attempt), ...consequences] as const;
  const [[inserted], , , [known]] = await session.writeRepeatably(statements);
  if (known === undefined) return undefined;
  checkRequest(known, attempt);
  return { id: known.resourceId, response: known.response, replayed: inserted === undefined };
}
