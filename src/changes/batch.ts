import { and, gt, lte, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Attempt } from "./attempt.ts";
import { columnsOf, type Creation, type NewRow } from "./creation.ts";
import { ifChanged, insertEvents } from "./event.ts";
import { checkRequest, createdId, isUnknown, recall, remember, type Versioned } from "./memory.ts";
import type { EventType } from "./table.ts";

/** The parameters of a batch. */
interface Batch {
  /** A JSON array of the fields of each row: one text, because D1 binds at most 100 values. */
  items: string;
  count: number;
}

/** SQL for a field of an item. A 64-bit integer comes as text, which the affinity of its column turns into the exact integer. */
export type Field = (name: string) => SQL;
const field: Field = (name) => sql`value ->> ${sql.raw(`'${name}'`)}`;

/**
 * Compiles the statements of a creation of several rows, all of them or none. They are those of `compileCreation`, with an event for
 * each row. The rows get consecutive ids in the order of the items.
 *
 * @param type of the events.
 * @param response SQL for the body of one row.
 * @param values the row, from the fields of an item.
 */
export function compileBatch<Table extends Versioned>(
  table: Table,
  type: EventType,
  response: () => SQL<string>,
  values: (item: Field) => NewRow<Table>,
) {
  const insert = (db: QueryBuilder, parameter: Parameter<Batch>, condition?: SQL) => {
    const items = sql`json_each(${parameter("items")})`;
    const rows = db
      .select(columnsOf(table, values(field)))
      .from(items)
      .where(condition)
      .orderBy(sql`key`);
    return db.insert(table).select(rows as never);
  };
  // The rows up to the last one, if the previous statement changed this number of rows. D1 binds a number as a float, which would round
  // the difference of a large id.
  const upTo = (last: SQLWrapper, count: SQLWrapper, changed: SQLWrapper) =>
    and(gt(table.id, ifChanged(sql`${last} - CAST(${count} AS INTEGER)`, changed)), lte(table.id, last));
  // A subquery, because SQLite evaluates it once: each event changes `last_insert_rowid()`.
  const lastInserted = sql`(SELECT last_insert_rowid())`;
  return {
    insert: compile((db, parameter: Parameter<Batch>) =>
      insert(db, parameter).returning({ id: exact(table.id).as("id"), response: response().as("response") }),
    ),
    insertOnce: compile((db, parameter: Parameter<Batch & Attempt>) =>
      insert(db, parameter, isUnknown(db, parameter)).returning({ inserted: sql<1>`1`.as("inserted") }),
    ),
    record: compile((db, parameter: Parameter<Batch>) => {
      const count = parameter("count");
      return insertEvents(db, type, table, response(), upTo(lastInserted, count, count));
    }),
    // The rows that the previous statement inserted. Without HAVING, a retry would remember an empty array.
    remember: compile((db, parameter: Parameter<Batch & Attempt>) => {
      const count = parameter("count");
      const inserted = upTo(lastInserted, count, count);
      const all = sql<string>`json_group_array(json(${response()}) ORDER BY ${table.id})`;
      return remember(db, parameter, table, all, inserted, sql`count(*) = ${count}`);
    }),
    recordOnce: compile((db, parameter: Parameter<Batch & Attempt>) => {
      const last = createdId(db, parameter);
      return insertEvents(db, type, table, response(), upTo(last, parameter("count"), sql`1`));
    }),
  };
}

/**
 * Creates all items or none, in one round trip. Under an `Idempotency-Key` it happens once.
 *
 * @param items with the fields that the statements read.
 * @param attempt undefined without an `Idempotency-Key`.
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function createBatch(
  session: Session,
  { insert, insertOnce, record, recordOnce, remember }: ReturnType<typeof compileBatch>,
  items: object[],
  attempt: Attempt | undefined,
): Promise<Pick<Creation, "response" | "replayed">> {
  const batch = { items: JSON.stringify(items), count: items.length };
  if (attempt === undefined) {
    const [rows] = await session.writeOnce([insert(batch), record(batch)]);
    // RETURNING has no order.
    const ascending = rows.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    return { response: `[${ascending.map(({ response }) => response).join()}]`, replayed: false };
  }
  const once = { ...batch, ...attempt };
  const statements = [insertOnce(once), remember(once), recordOnce(once), recall(attempt)] as const;
  const [inserted, , , [known]] = await session.writeRepeatably(statements);
  if (known === undefined) throw new Error("The creation of a batch was not remembered");
  checkRequest(known, attempt);
  return { response: known.response, replayed: inserted.length === 0 };
}
