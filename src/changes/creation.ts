import { and, eq, getTableColumns, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteTable } from "drizzle-orm/sqlite-core";
import type { Resource, Versioned } from "../db/resource.ts";
import { compileConsequence, type Consequence, sequence } from "../db/sequence.ts";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { compileEventOf, insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { checkRequest, type Entry, idInEntry, insertEntry, isUnused, selectEntry } from "../idempotency/entry.ts";

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
 * repeated any number of times: the INSERT, unless the key is known; its entry; the event; and the SELECT of the entry, from this
 * attempt or an earlier one.
 *
 * @param type of the event. Undefined for a resource whose changes leave none.
 * @param insertion the row, from the parameters of the request.
 */
export function compileCreation<Body, Table extends Versioned, Fields extends object>(
  resource: Resource<Body, Table>,
  type: EventType | undefined,
  insertion: (db: QueryBuilder, parameter: Parameter<Fields>) => Insertion<Table>,
) {
  const { table, body } = resource;
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
  const lastInserted = sql`last_insert_rowid()`;
  return {
    insert: compile((db, parameter: Parameter<Fields>) =>
      insert(db, parameter).returning({ id: id(), response: body().as("response") }),
    ),
    insertOnce: compile((db, parameter: Parameter<Fields & Attempt>) =>
      insert(db, parameter, isUnused(db, parameter)).returning({ id: id() }),
    ),
    record:
      type &&
      compileConsequence((db, _parameter, ifChanged) =>
        insertEvents(db, type, resource, eq(table.id, ifChanged(lastInserted))),
      ),
    // If nothing was inserted, the key already has an entry.
    store: compileConsequence((db, parameter: Parameter<Attempt>, ifChanged) =>
      insertEntry(db, parameter, resource, eq(table.id, ifChanged(lastInserted))),
    ),
    // The entry changed `last_insert_rowid()`, and has the id.
    recordStored: type && compileEventOf<Attempt>(type, resource, idInEntry),
  };
}

type CompiledCreation<Body, Fields extends object> = ReturnType<typeof compileCreation<Body, Versioned, Fields>>;

/** The outcome of a creation. */
export interface Creation<Body> {
  id: Int64;
  /** The body of the first response. */
  response: Json<Body>;
  /** Whether an earlier attempt created the resource. */
  replayed: boolean;
}

/**
 * Creates a resource in one round trip. With an `Idempotency-Key`, it is created once: when an earlier request with this key
 * created it, the outcome is the earlier one.
 *
 * @param fields the parameters of the insertion.
 * @param attempt undefined without an `Idempotency-Key`.
 * @param consequences of the same transaction.
 * @returns undefined when the condition of the insertion does not hold. The key then remains unused.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function create<Body, Fields extends object>(
  session: Session,
  { insert, insertOnce, record, store, recordStored }: CompiledCreation<Body, Fields>,
  fields: Fields,
  attempt: Attempt | undefined,
  ...consequences: Consequence[]
): Promise<Creation<Body> | undefined> {
  if (attempt === undefined) {
    const recorded = record ? [record({})] : [];
    const [[inserted]] = await session.writeOnce(sequence(insert(fields), ...recorded, ...consequences));
    return inserted && { ...inserted, replayed: false };
  }
  const creation = sequence(
    insertOnce({ ...fields, ...attempt }),
    store(attempt),
    ...(recordStored ? [recordStored(attempt)] : []),
    ...consequences,
  );
  const { first, entry } = await writeOnceUnderKey(session, creation, attempt);
  return entry && { id: entry.resourceId, response: entry.response, replayed: first === undefined };
}

/**
 * Runs a change under its key. It can be repeated.
 *
 * @param statements of which the first returns a row if this attempt is the first one.
 * @param refusal reads what a refusal needs.
 * @returns that row, the entry of the key, if it has one, and what `refusal` read.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function writeOnceUnderKey<Row, Read = never>(
  session: Session,
  statements: readonly [Statement<Row>, ...Statement<unknown>[]],
  attempt: Attempt,
  ...refusal: Statement<Read>[]
): Promise<{ first: Row | undefined; entry: Entry | undefined; read: Read[] }> {
  const results = await session.writeRepeatably<unknown[]>([...statements, selectEntry(attempt), ...refusal]);
  const entry = results[statements.length]?.[0] as Entry | undefined;
  if (entry !== undefined) checkRequest(entry, attempt);
  return {
    first: results[0]?.[0] as Row | undefined,
    entry,
    read: results.slice(statements.length + 1).flat() as Read[],
  };
}
