import { and, notExists, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { derive, type Resource, type Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { idInEntry, isUnused } from "../idempotency/entry.ts";
import { columnsOf, derivedColumns, type Inserted, inserted, settle, type ValuesOf } from "./insert.ts";
import { atPlaces } from "./patch.ts";
import {
  type Call,
  changedRows,
  changeFirst,
  compileEntry,
  compileEvents,
  ifChanged,
  type Responded,
  run,
} from "./plan.ts";
import type { Rule } from "./rule.ts";

interface Parameters {
  /** A JSON array of rows: one text, because D1 binds at most 100 values (docs/standards.md). */
  items: string;
  count: number;
  /** The items again if one has the field of the rule. Otherwise null, and so no items. */
  ruled: string | null;
}

/** SQL for a field of an item. A 64-bit integer comes as text, which the affinity of its column turns into the exact integer. */
const itemField = (name: string) => sql`value ->> ${sql.raw(`'${name}'`)}`;

/**
 * Compiles the creation of several rows, all of them or none. They get consecutive ids in the order of the items.
 *
 * @param values a row, from SQL for each field.
 * @param rule of a field that an item may lack.
 * @returns a function that creates rows in one round trip. It throws the error of the rule with the places of the items that break it.
 */
export function compileInsertOfSeveral<Body, Table extends Versioned, Field extends string, Column extends string>(
  operation: string,
  resource: Resource<Body, Table, Column>,
  event: EventType,
  values: ValuesOf<Table, Field, Column>,
  rule?: Rule<NoInfer<Field>> & { field: NoInfer<Field> },
) {
  const { body } = resource;
  const table: Versioned = resource.table;
  const broken = (db: QueryBuilder, items: SQLWrapper, own: NonNullable<typeof rule>) =>
    db
      .select({ place: sql<number>`key`.as("place") })
      .from(sql`json_each(${items})`)
      .where(own.isBroken(db, { id: sql`NULL`, value: itemField, parameter: undefined as never }));
  const insertRows = (db: QueryBuilder, parameter: Parameter<Parameters>, isNew?: SQL) => {
    const row = { ...values(itemField, db), ...derivedColumns(resource, itemField) };
    const rows = db
      .select(columnsOf(table, row))
      .from(sql`json_each(${parameter("items")})`)
      .where(and(isNew, rule && notExists(broken(db, parameter("ruled"), rule))));
    return db.insert(table).select(rows.orderBy(sql`key`) as never);
  };
  const newest = (_db: QueryBuilder, parameter: Parameter<Parameters>) =>
    // A subquery, because SQLite evaluates it once: each event changes `last_insert_rowid()`.
    changedRows(table, sql`(SELECT last_insert_rowid())`, parameter("count"), parameter("count"));
  const insert = compile<Parameters, Inserted<Body>[]>(
    `${operation}.insert`,
    (db, parameter: Parameter<Parameters>) => insertRows(db, parameter).returning(inserted(resource)) as never,
  );
  const insertOnce = compile(`${operation}.insertOnce`, (db, parameter: Parameter<Parameters & Attempt>) =>
    insertRows(db, parameter, isUnused(db, parameter)).returning({ inserted: sql<1>`1`.as("inserted") }),
  );
  const record = compileEvents(`${operation}.record`, resource, event, newest);
  const store = compileEntry(`${operation}.store`, resource, newest, (parameter) => ({
    body: sql`json_group_array(json(${body()}) ORDER BY ${table.id})`,
    // Without it, a retry would store an empty array.
    having: sql`count(*) = ${parameter("count")}`,
  }));
  // The one entry changed `last_insert_rowid()`, and has the last id.
  const recordStored = compileEvents(
    `${operation}.recordStored`,
    resource,
    event,
    (db, parameter: Parameter<Parameters & Attempt>) =>
      changedRows(table, idInEntry(db, parameter), parameter("count")),
  );

  // It follows the plan, whose statements changed no row if an item broke the rule.
  const selectPlaces =
    rule &&
    compile(`${operation}.places`, (db, parameter: Parameter<Parameters>) =>
      broken(db, ifChanged(parameter("ruled"), sql`0`), rule).orderBy(sql`key`),
    );

  function planOf(parameters: Parameters, attempt: Attempt | undefined) {
    if (attempt === undefined) return changeFirst({ change: insert(parameters), events: record(parameters) });
    const once = { ...parameters, ...attempt };
    const change = insertOnce(once) as Statement<never>;
    return changeFirst({ change, kept: store(once), events: recordStored(once) });
  }
  return async (call: Call, items: readonly { readonly [Name in Field]: unknown }[]): Promise<Responded<Body[]>> => {
    const rows = JSON.stringify(items.map((item) => derive(resource, item)));
    const ruled = rule && items.some((item) => item[rule.field] !== null) ? rows : null;
    const parameters = { items: rows, count: items.length, ruled };
    const select = ruled === null ? undefined : selectPlaces?.(parameters);
    const { found, ...outcome } = await run(call, [planOf(parameters, call.attempt)], select);
    const places = found.map(({ place }) => place);
    const refused = rule && { error: (c: Call["c"]) => atPlaces(places, rule.error(c, undefined)) };
    const { changed, entry, replayed } = settle(call, refused, { ...outcome, found: [] });
    if (entry !== undefined) return { response: entry.response, replayed };
    // RETURNING has no order (sqlite.org/lang_returning.html, section 3).
    const ascending = changed.toSorted((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1));
    return { response: `[${ascending.map(({ response }) => response).join()}]`, replayed };
  };
}
