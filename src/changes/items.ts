// The rows that the items of a batch name, and their changes.
import { eq, getTableColumns, sql, type SQL, type SQLWrapper } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import { changeOf } from "./change-of.ts";
import { compileSets, namesOf, type Patched, type Sets } from "./fields.ts";
import { ANY_NUMBER, ifChanged } from "./plan.ts";
import type { Rule } from "./rule.ts";

export interface Items {
  /** A JSON array of items: one text, because D1 binds at most 100 values (docs/standards.md). */
  items: string;
  count: number;
}

/** Each item. No items, and so no rows, from NULL. */
export const each = (items: SQLWrapper) => sql`json_each(${items}) AS item`;
export const fieldOf = (name: string) => sql`item.value ->> ${sql.raw(`'${name}'`)}`;
// Without CAST, an id would be a text, and the events and the responses would show it as one.
const id = sql`CAST(item.value ->> 'id' AS INTEGER)`;

/**
 * SQL for the changes that items make of their rows.
 *
 * @param key the field by which an item names its row: the id, or one with a unique index, which no item changes.
 */
export function changesOfItems<
  Body,
  Table extends Versioned,
  Field extends string & keyof Table["_"]["columns"],
  Column extends string,
>(
  operation: string,
  resource: Patched<Body, Table, Field, Column>,
  event: EventType,
  rules: readonly Rule<Field>[],
  sets: Sets<Field>,
  key: Field | "id" = "id",
) {
  const table: Versioned = resource.table;
  const columnOf = (name: string) => table[name as keyof Versioned] as SQLiteColumn;
  const isRow = () => (key === "id" ? eq(table.id, id) : eq(columnOf(key), fieldOf(key)));
  const changeOfItem = () =>
    changeOf(resource, rules, {
      id,
      isNamed: (field) => sql`json_type(item.value, ${sql.raw(`'$.${field}'`)}) IS NOT NULL`,
      value: (column) => sql`CAST(${fieldOf(column)} AS ${sql.raw(columnOf(column).getSQLType())})`,
      parameter: undefined as never,
    });
  const isMet = (db: QueryBuilder) =>
    sql`(coalesce(${table.version} = item.value ->> 'version', 1) AND NOT ${changeOfItem().broken(db)})`;
  const rowsOf = (items: SQLWrapper) => sql`${each(items)} CROSS JOIN ${table} ON ${isRow()}`;
  /** The rows as they will be, under the name of the table. */
  const rowsAfter = (db: QueryBuilder, items: SQLWrapper) => {
    const { after, differs } = changeOfItem();
    const row = Object.entries<SQLiteColumn>(getTableColumns(table)).map(([name, column]) => {
      const value = name === "version" ? sql`${column} + (${differs()})` : after(name);
      return sql`${value} AS ${sql.identifier(column.name)}`;
    });
    const more = sql`item.key AS place, ${differs()} AS differs, ${isMet(db)} AS met`;
    return sql`(SELECT ${sql.join(row, sql`, `)}, ${more} FROM ${rowsOf(items)}) AS ${table}`;
  };
  const insertRecords = (db: QueryBuilder, items: SQL) =>
    insertEvents(db, event, resource, sql`differs`, { from: rowsAfter(db, items) });
  return {
    changeOfItem,
    rowsOf,
    rowsAfter,
    insertRecords,
    /** The events of the rows that differ, if all items are met. */
    record: compile(`${operation}.record`, (db, parameter: Parameter<Items>) => {
      const met = sql`SELECT count(*) FROM ${rowsOf(parameter("items"))} WHERE ${isMet(db)}`;
      return insertRecords(db, sql`iif((${met}) = ${parameter("count")}, ${parameter("items")}, NULL)`);
    }),
    /** The changes, if there are events. */
    change: compileSets(`${operation}.change`, namesOf<Field>(resource), sets, (name, written) =>
      compile(name, (db, parameter: Parameter<Items>) => {
        const { set, differs } = changeOfItem();
        return db
          .update(table)
          .set(set(written))
          .from(each(ifChanged(parameter("items"), ANY_NUMBER)))
          .where(sql`${isRow()} AND (${differs(written)})`)
          .returning({ id: exact(table.id).as("id") });
      }),
    ),
  };
}
