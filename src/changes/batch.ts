import { and, gt, lte, type SQL, sql } from "drizzle-orm";
import type { Session } from "../db/session.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Attempt } from "./attempt.ts";
import { columnsOf, type Creation, type NewRow } from "./creation.ts";
import { checkRequest, isUnknown, recall, remember, type Versioned } from "./memory.ts";

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
 * Compiles the statements of a creation of several rows, all of them or none. They are those of `compileCreation`: the INSERT alone, or
 * three statements under an `Idempotency-Key`. The rows get consecutive ids in the order of the items.
 *
 * @param response SQL for the body of one row.
 * @param values the row, from the fields of an item.
 */
export function compileBatch<Table extends Versioned>(
  table: Table,
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
  return {
    insert: compile((db, parameter: Parameter<Batch>) =>
      insert(db, parameter).returning({ id: exact(table.id).as("id"), response: response().as("response") }),
    ),
    insertOnce: compile((db, parameter: Parameter<Batch & Attempt>) =>
      insert(db, parameter, isUnknown(db, parameter)).returning({ inserted: sql<1>`1`.as("inserted") }),
    ),
    // The rows that the previous statement inserted. Without HAVING, a retry would remember an empty array.
    remember: compile((db, parameter: Parameter<Batch & Attempt>) => {
      const count = parameter("count");
      const inserted = and(
        gt(table.id, sql`last_insert_rowid() - ${count}`),
        lte(table.id, sql`last_insert_rowid()`),
        sql`changes() = ${count}`,
      );
      const all = sql<string>`json_group_array(json(${response()}) ORDER BY ${table.id})`;
      return remember(db, parameter, table, all, inserted, sql`count(*) = ${count}`);
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
  { insert, insertOnce, remember }: ReturnType<typeof compileBatch>,
  items: object[],
  attempt: Attempt | undefined,
): Promise<Pick<Creation, "response" | "replayed">> {
  const batch = { items: JSON.stringify(items), count: items.length };
  if (attempt === undefined) {
    const [rows] = await session.writeOnce([insert(batch)]);
    // RETURNING has no order.
    const ascending = rows.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    return { response: `[${ascending.map(({ response }) => response).join()}]`, replayed: false };
  }
  const once = { ...batch, ...attempt };
  const statements = [insertOnce(once), remember(once), recall(attempt)] as const;
  const [inserted, , [known]] = await session.writeRepeatably(statements);
  if (known === undefined) throw new Error("The creation of a batch was not remembered");
  checkRequest(known, attempt);
  return { response: known.response, replayed: inserted.length === 0 };
}
