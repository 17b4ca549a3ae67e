import { notExists, type SQL, sql } from "drizzle-orm";
import { derive, type Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { EventType } from "../feed/table.ts";
import { brokenBy, type Found, type Patch, type Patched, type Sets } from "./fields.ts";
import { columnsOf, derivedColumns, type ValuesOf } from "./insert.ts";
import { changesOfItems, each, fieldOf, type Items } from "./items.ts";
import { atPlaces } from "./patch.ts";
import { ANY_NUMBER, type Call, changedRows, changeFirst, changeLast, compileEvents, run } from "./plan.ts";
import type { Rule } from "./rule.ts";

/** What an upsert did to a row. */
export type Result = "created" | "updated" | "unchanged";

interface Options<Table extends Versioned, Field extends string, Column> {
  created: EventType;
  updated: EventType;
  /** The field by which an item names its row. It has a unique index. */
  key: Field;
  /** A new row, from SQL for each field. */
  values: ValuesOf<Table, Field, Column>;
  /** SQL for fields of a new row that an item may lack. A row that exists keeps its own. */
  defaults: { readonly [Name in Field]?: SQL };
  sets: Sets<Field>;
  /** Of a row that exists. */
  rule: Rule<Field>;
}

/**
 * Compiles an upsert: of each item, its row is created, changed, or left as it is. All of them or none. The new rows come first: afterwards,
 * each item has a row, and a new one does not differ from its item.
 *
 * `ON CONFLICT` would use up an id for each row that exists, write rows that do not change, and part `changes()` from `last_insert_rowid()`.
 *
 * @returns a function that does it in one round trip, and throws the error of the rule with the places of the items that break it.
 */
export function compileUpsert<
  Body,
  Table extends Versioned,
  Field extends string & keyof Table["_"]["columns"],
  Column extends string,
>(
  operation: string,
  resource: Patched<Body, Table, Field, Column>,
  { created, updated, key, values, defaults, sets, rule }: Options<Table, NoInfer<Field>, NoInfer<Column>>,
) {
  const table: Versioned = resource.table;
  const keyColumn = () => table[key as keyof Versioned] as SQL;
  // No item changes the key: an UPDATE that names it would write its index.
  const { [key]: _key, ...fields } = resource.fields;
  const changed = { ...resource, fields } as typeof resource;
  const { changeOfItem, rowsOf, record, change } = changesOfItems(operation, changed, updated, [rule], sets, key);
  const valueOf = (field: Field) =>
    defaults[field] === undefined ? fieldOf(field) : sql`coalesce(${fieldOf(field)}, ${defaults[field]})`;
  const insert = compile(`${operation}.insert`, (db, parameter: Parameter<Items>) => {
    const items = parameter("items");
    const row = { ...values(valueOf, db), ...derivedColumns<Column>(resource, fieldOf) };
    const refused = sql`EXISTS (SELECT 1 FROM ${rowsOf(items)} WHERE ${changeOfItem().broken(db)})`;
    const known = db
      .select({ one: sql`1` })
      .from(table)
      .where(sql`${keyColumn()} = ${fieldOf(key)}`);
    const rows = db
      .select(columnsOf(table, row))
      .from(each(sql`iif(${refused}, NULL, ${items})`))
      .where(notExists(known))
      .orderBy(sql`item.key`);
    return db
      .insert(table)
      .select(rows as never)
      .returning({ id: exact(table.id).as("id") });
  });
  const recordCreated = compileEvents(`${operation}.recordCreated`, resource, created, () =>
    changedRows(table, sql`(SELECT last_insert_rowid())`, sql`changes()`, ANY_NUMBER),
  );
  const select = compile<Items, (Found<Body> & { place: number })[]>(
    `${operation}.select`,
    (db: QueryBuilder, parameter: Parameter<Items>) =>
      db
        .select({ ...changeOfItem().found(db), place: sql<number>`item.key`.as("place") })
        .from(rowsOf(parameter("items")))
        .orderBy(sql`item.key`),
  );
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- the fields are those of the caller
  return async (call: Call, items: readonly Patch<Field>[]) => {
    const parameters = { items: JSON.stringify(items.map((item) => derive(resource, item))), count: items.length };
    const creation = changeFirst({ change: insert(parameters), events: recordCreated({}) });
    const update = changeLast({ events: record(parameters), change: change(items)(parameters) });
    const { changed, found } = await run<{ id: Int64 }, Found<Body> & { place: number }>(
      call,
      [creation, update],
      select(parameters),
    );
    const places = found.flatMap(({ place, ...row }) => (row[brokenBy(0)] ? [place] : []));
    if (places.length > 0) throw atPlaces(places, rule.error(call.c, undefined));
    const ids = new Set(changed.map(({ id }) => id));
    return found.map((row) => ({
      row,
      // A row that is created has no other version in this transaction, and no other row that changes has the first.
      result: !ids.has(row.id) ? "unchanged" : row.version === 1 ? "created" : "updated",
    })) as { row: Found<Body>; result: Result }[];
  };
}
