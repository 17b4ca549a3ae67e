import { and, gt, lte, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Resource, Versioned } from "../db/resource.ts";
import { compileConsequence, sequence } from "../db/sequence.ts";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Json } from "../exact/json.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { idInEntry, insertEntry, isUnused } from "../idempotency/entry.ts";
import { columnsOf, type Creation, type NewRow, writeOnceUnderKey } from "./creation.ts";

/** The parameters of a batch. */
interface Batch {
  /** A JSON array of the fields of each row: one text, because D1 binds at most 100 values. */
  items: string;
  count: number;
}

/** SQL for a field of an item. A 64-bit integer comes as text, which the affinity of its column turns into the exact integer. */
export type ItemField = (name: string) => SQL;
const itemField: ItemField = (name) => sql`value ->> ${sql.raw(`'${name}'`)}`;

/**
 * Compiles the statements of a creation of several rows, all of them or none. They are those of `compileCreation`, with an event for
 * each row. The rows get consecutive ids in the order of the items.
 *
 * @param type of the events.
 * @param values the row, from the fields of an item.
 */
export function compileBatch<Body, Table extends Versioned>(
  resource: Resource<Body, Table>,
  type: EventType,
  values: (item: ItemField) => NewRow<Table>,
) {
  const { table, body } = resource;
  const insert = (db: QueryBuilder, parameter: Parameter<Batch>, condition?: SQL) => {
    const items = sql`json_each(${parameter("items")})`;
    const rows = db
      .select(columnsOf(table, values(itemField)))
      .from(items)
      .where(condition)
      .orderBy(sql`key`);
    return db.insert(table).select(rows as never);
  };
  // The rows up to the last one, under the condition of `ifChanged`. D1 binds a number as a float, which would round the difference of a
  // large id.
  const upTo = (last: SQLWrapper, ifChanged: (value: SQLWrapper) => SQL, count: SQLWrapper) =>
    and(gt(table.id, ifChanged(sql`${last} - CAST(${count} AS INTEGER)`)), lte(table.id, last));
  // A subquery, because SQLite evaluates it once: each event changes `last_insert_rowid()`.
  const lastInserted = sql`(SELECT last_insert_rowid())`;
  return {
    insert: compile((db, parameter: Parameter<Batch>) =>
      insert(db, parameter).returning({ id: exact(table.id).as("id"), response: body().as("response") }),
    ),
    insertOnce: compile((db, parameter: Parameter<Batch & Attempt>) =>
      insert(db, parameter, isUnused(db, parameter)).returning({ inserted: sql<1>`1`.as("inserted") }),
    ),
    record: compileConsequence((db, parameter: Parameter<Batch>, ifChanged) => {
      const count = parameter("count");
      return insertEvents(
        db,
        type,
        resource,
        upTo(lastInserted, (value) => ifChanged(value, count), count),
      );
    }),
    // The rows that the previous statement inserted. Without HAVING, a retry would store an empty array.
    store: compileConsequence((db, parameter: Parameter<Batch & Attempt>, ifChanged) => {
      const count = parameter("count");
      const inserted = upTo(lastInserted, (value) => ifChanged(value, count), count);
      return insertEntry(db, parameter, resource, inserted, {
        body: sql`json_group_array(json(${body()}) ORDER BY ${table.id})`,
        having: sql`count(*) = ${count}`,
      });
    }),
    // The one entry, which has the last id.
    recordStored: compileConsequence((db, parameter: Parameter<Batch & Attempt>, ifChanged) =>
      insertEvents(db, type, resource, upTo(idInEntry(db, parameter), ifChanged, parameter("count"))),
    ),
  };
}

/**
 * Creates all items or none, in one round trip. Under an `Idempotency-Key` it happens once.
 *
 * @param items with the fields that the statements read.
 * @param attempt undefined without an `Idempotency-Key`.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function createBatch<Body>(
  session: Session,
  { insert, insertOnce, record, store, recordStored }: ReturnType<typeof compileBatch<Body, Versioned>>,
  items: readonly object[],
  attempt: Attempt | undefined,
): Promise<Omit<Creation<Body[]>, "id">> {
  const batch = { items: JSON.stringify(items), count: items.length };
  if (attempt === undefined) {
    const [rows] = await session.writeOnce(sequence(insert(batch), record(batch)));
    // RETURNING has no order.
    const ascending = rows.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    const response = `[${ascending.map(({ response }) => response).join()}]` as Json<Body[]>;
    return { response, replayed: false };
  }
  const once = { ...batch, ...attempt };
  const creation = sequence(insertOnce(once), store(once), recordStored(once));
  const { first, entry } = await writeOnceUnderKey(session, creation, attempt);
  if (entry === undefined) throw new Error("The creation of a batch was not stored");
  return { response: entry.response, replayed: first === undefined };
}
