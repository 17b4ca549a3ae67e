import { and, eq, getTableColumns, sql, type SQL, type SQLWrapper } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { derive, type Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { insertEntry, isUnused, NO_ATTEMPT, type Once } from "../idempotency/entry.ts";
import { changeOf, compileSets, type Found, namesOf, type Patch, type Patched } from "./fields.ts";
import { ANY_NUMBER, changeLast, ifChanged } from "./plan.ts";
import type { Options } from "./update.ts";

/** The patch of one row among several. The other fields are those to change. */
export interface Item {
  id: Int64;
  /** The version that the row has to have. Any unless given. */
  version?: number | undefined;
}

interface Parameters extends Once {
  /** A JSON array of items: one text, because D1 binds at most 100 values (docs/standards.md). */
  items: string;
  count: number;
}

/** Each item. No items, and so no rows, from NULL. */
const each = (items: SQLWrapper) => sql`json_each(${items}) AS item`;
// Without CAST, an id would be a text, and the events and the responses would show it as one.
const id = sql`CAST(item.value ->> 'id' AS INTEGER)`;
const fieldOf = (name: string) => sql`item.value ->> ${sql.raw(`'${name}'`)}`;

/** The items, unless the key has an entry. */
const unlessKnown = (db: QueryBuilder, parameter: Parameter<Parameters>) =>
  sql`iif(${isUnused(db, parameter)}, ${parameter("items")}, NULL)`;

/**
 * Compiles the patches of several rows, all of them or none. The events come before the UPDATE, and with an `Idempotency-Key` the entry
 * before the events: afterwards, no row tells whether the batch changed it. So both are made of the rows as they will be.
 *
 * @returns what `patchRows` takes.
 */
export function compileUpdateOfSeveral<
  Body,
  Table extends Versioned,
  Field extends string & keyof Table["_"]["columns"],
  Column extends string,
>(
  operation: string,
  resource: Patched<Body, Table, Field, Column>,
  event: EventType,
  { missing, sets = [[]], rule }: Pick<Options<NoInfer<Field>>, "missing" | "sets" | "rule">,
) {
  const table: Versioned = resource.table;
  const changeOfItem = () => {
    return changeOf(resource, rule, {
      id,
      isNamed: (field) => sql`json_type(item.value, ${sql.raw(`'$.${field}'`)}) IS NOT NULL`,
      value: (column) =>
        sql`CAST(${fieldOf(column)} AS ${sql.raw((table[column as keyof Versioned] as SQLiteColumn).getSQLType())})`,
      parameter: undefined as never,
    });
  };
  const isMet = (db: QueryBuilder) =>
    sql`(coalesce(${table.version} = item.value ->> 'version', 1) AND NOT ${changeOfItem().broken(db)})`;
  const rowsOf = (items: SQLWrapper) => sql`${each(items)} CROSS JOIN ${table} ON ${table.id} = ${id}`;
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

  const record = compile(`${operation}.record`, (db, parameter: Parameter<Parameters>) => {
    const met = sql`SELECT count(*) FROM ${rowsOf(parameter("items"))} WHERE ${isMet(db)}`;
    return insertRecords(db, sql`iif((${met}) = ${parameter("count")}, ${parameter("items")}, NULL)`);
  });
  const store = compile(`${operation}.store`, (db, parameter: Parameter<Parameters>) =>
    insertEntry(db, parameter, resource, undefined, {
      from: rowsAfter(db, unlessKnown(db, parameter)),
      body: sql`json_group_array(json(json_insert(${resource.body()}, '$.version', ${table.version})) ORDER BY place)`,
      having: sql`sum(met) = ${parameter("count")}`,
    }).returning({ stored: sql<1>`1`.as("stored") }),
  );
  const recordStored = compile(`${operation}.recordStored`, (db, parameter: Parameter<Parameters>) =>
    insertRecords(db, ifChanged(parameter("items"))),
  );
  const change = compileSets(`${operation}.change`, namesOf<Field>(resource), sets, (name, written) =>
    compile(name, (db, parameter: Parameter<Parameters>) => {
      const { set, differs } = changeOfItem();
      return db
        .update(table)
        .set(set(written))
        .from(each(ifChanged(parameter("items"), ANY_NUMBER)))
        .where(and(eq(table.id, id), differs(written)))
        .returning({ changed: sql<1>`1`.as("changed") });
    }),
  );
  // The entry has the response, if there is one.
  const select = compile<Parameters, Found<Body>[]>(`${operation}.select`, (db, parameter: Parameter<Parameters>) => {
    const rows = rowsOf(unlessKnown(db, parameter));
    return db.select(changeOfItem().found(db)).from(rows);
  });

  const several = (items: readonly (Item & Patch<Field>)[], attempt: Attempt | undefined) => {
    const rows = JSON.stringify(items.map((item) => derive(resource, item)));
    const parameters = { items: rows, count: items.length, ...(attempt ?? NO_ATTEMPT) };
    const steps = { change: change(items)(parameters), select: select(parameters) };
    const plan =
      attempt === undefined
        ? changeLast({ events: record(parameters), change: steps.change })
        : changeLast({ entry: store(parameters), events: recordStored(parameters), change: steps.change });
    return { plan, select: steps.select };
  };
  return { missing, rule, several };
}
