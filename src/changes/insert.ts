import { and, getTableColumns, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { derive, type Resource, type Versioned } from "../db/resource.ts";
import { compile, type QueryBuilder, type Statement } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { idInEntry, isUnused } from "../idempotency/entry.ts";
import {
  type Call,
  changedRow,
  changedRows,
  changeFirst,
  compileEntry,
  compileEvents,
  type Consequence,
  type Outcome,
  type Responded,
  run,
} from "./plan.ts";
import { keeps, type Rule } from "./rule.ts";

/** The version of a new row. */
const FIRST_VERSION = 1;

/**
 * All columns of a new row except the id, which SQLite assigns, the version and the derived ones. A missing column does not compile.
 */
type NewRow<Table extends Versioned, Column> = {
  [Name in Exclude<keyof Table["_"]["columns"], "id" | "version" | Column>]: SQLWrapper;
};

/** The columns of an INSERT ... SELECT of a new row, in the order of the table, as drizzle requires. */
function columnsOf(table: Versioned, values: object) {
  const all: { [column: string]: SQLWrapper } = { ...values, id: sql`NULL`, version: sql`1` };
  return Object.fromEntries(
    Object.keys(getTableColumns(table)).map((column) => [column, sql`${all[column]}`.as(column)]),
  );
}

/** SQL for a field of an item. A 64-bit integer comes as text, which the affinity of its column turns into the exact integer. */
const itemField = (name: string) => sql`value ->> ${sql.raw(`'${name}'`)}`;

/** What a creation of one row may have beside its values. */
interface Circumstances<Field extends string> {
  /** The row that the values come from. */
  from?: { table: Versioned; where: (field: (name: Field) => SQLWrapper) => SQL | undefined };
  /** Its error is also that of a missing row of `from`. */
  rule?: Rule;
  companions?: (fields: object) => readonly Consequence[];
}

/** A new row. The entry of a key has both, too. */
export interface Inserted<Body> {
  id: Int64;
  response: Json<Body>;
}

/**
 * Compiles the creation of one row, and without circumstances that of several, all of them or none. They get consecutive ids in the order
 * of the items.
 *
 * @param event undefined for a resource whose changes leave none.
 * @param values the row, from SQL for each field.
 * @returns functions that create rows in one round trip, and throw the error of the rule.
 */
export function compileInsert<
  Body,
  Table extends Versioned,
  Field extends string,
  Column extends string,
  Given extends [] | [Circumstances<NoInfer<Field>>],
>(
  operation: string,
  resource: Resource<Body, Table, Column>,
  event: EventType | undefined,
  values: (field: (name: Field) => SQLWrapper, db: QueryBuilder) => NewRow<Table, Column>,
  ...given: Given
) {
  const { table, body } = resource;
  const { from, rule, companions }: Circumstances<Field> = given[0] ?? {};

  /** The plan of one row, or of several: of a JSON array, in one text, because D1 binds at most 100 values. */
  function compilePlan(several: boolean) {
    const name = several ? `${operation}.several` : operation;
    const [items, count] = [sql.placeholder("items"), sql.placeholder("count")];
    const field = several ? itemField : sql.placeholder;
    const insert = (db: QueryBuilder, isNew?: SQL) => {
      const derived = Object.keys(resource.derived ?? {}).map((column) => [column, sql`${field(column)}`]);
      const row = { ...values(field, db), ...Object.fromEntries(derived) };
      const kept = keeps(rule, db, { id: sql`NULL`, value: field });
      const where = and(from?.where(field), kept, isNew);
      const into = db.insert(table);
      // A SELECT would read one row more than VALUES.
      if (!several && where === undefined) return into.values(row as never);
      const source = several ? sql`json_each(${items})` : (from?.table ?? sql`(SELECT 1)`);
      const rows = db.select(columnsOf(table, row)).from(source).where(where);
      return into.select((several ? rows.orderBy(sql`key`) : rows) as never);
    };
    const inserted = () =>
      several
        ? // A subquery, because SQLite evaluates it once: each event changes `last_insert_rowid()`.
          changedRows(table, sql`(SELECT last_insert_rowid())`, count, count)
        : changedRow(table, sql`last_insert_rowid()`);
    // The one entry changed `last_insert_rowid()`, and has the last id.
    const kept = (db: QueryBuilder) => {
      const last = idInEntry(db, sql.placeholder);
      return several ? changedRows(table, last, count) : changedRow(table, last);
    };
    const statements = {
      insert: compile(`${name}.insert`, (db) =>
        insert(db).returning({ id: exact(table.id).as("id"), response: body().as("response") }),
      ),
      insertOnce: compile(`${name}.insertOnce`, (db) =>
        insert(db, isUnused(db, sql.placeholder)).returning({ inserted: sql<1>`1`.as("inserted") }),
      ),
      record: compileEvents(`${name}.record`, resource, event, inserted),
      store: compileEntry(
        `${name}.store`,
        resource,
        inserted,
        several
          ? {
              body: sql`json_group_array(json(${body()}) ORDER BY ${table.id})`,
              // Without it, a retry would store an empty array.
              having: sql`count(*) = ${count}`,
            }
          : undefined,
      ),
      recordStored: compileEvents(`${name}.recordStored`, resource, event, kept),
    };
    return (fields: object, attempt: Attempt | undefined) => {
      const { insert, insertOnce, record, store, recordStored } = statements;
      const once = attempt === undefined ? fields : { ...fields, ...attempt };
      const change = (attempt === undefined ? insert(once) : insertOnce(once)) as Statement<Inserted<Body>>;
      return attempt === undefined
        ? changeFirst({ change, events: record(fields), companions: companions?.(fields) })
        : changeFirst({ change, kept: store(once), events: recordStored(once), companions: companions?.(fields) });
    };
  }

  const planOfOne = compilePlan(false);
  const planOfSeveral = given.length === 0 ? compilePlan(true) : undefined;
  const reason = rule?.reason;
  const selectReason =
    reason &&
    compile(`${operation}.reason`, (db) => {
      const after = { id: sql`NULL`, value: sql.placeholder };
      return db.select({ reason: sql`${reason(db, after)}`.as("reason") }).from(sql`(SELECT 1)`);
    });
  function settle(call: Call, { changed, entry, found }: Outcome<Inserted<Body>, { reason: unknown }>) {
    if (entry === undefined && (changed.length === 0 || call.attempt !== undefined))
      throw rule?.error(call.c, found[0]?.reason) ?? new Error("Nothing was inserted");
    return { changed, entry, replayed: changed.length === 0 };
  }
  return {
    async one(call: Call, fields: { [Name in Field]: unknown }): Promise<Inserted<Body> & Responded<Body>> {
      const plan = planOfOne(derive(resource, fields), call.attempt);
      const outcome = await run(call, [plan], selectReason?.(fields));
      const { changed, entry, replayed } = settle(call, outcome);
      const [row] = entry === undefined ? changed : [{ id: entry.resourceId, response: entry.response }];
      return { ...(row as Inserted<Body>), version: FIRST_VERSION, replayed };
    },
    async all(call: Call, items: Given extends [] ? readonly object[] : never): Promise<Responded<Body[]>> {
      const planOf = planOfSeveral as typeof planOfOne;
      const rows = JSON.stringify(items.map((item) => derive(resource, item)));
      const plan = planOf({ items: rows, count: items.length }, call.attempt);
      const { changed, entry, replayed } = settle(call, await run(call, [plan]));
      if (entry !== undefined) return { response: entry.response, replayed };
      // RETURNING has no order.
      const ascending = changed.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
      return { response: `[${ascending.map(({ response }) => response).join()}]`, replayed };
    },
  };
}
