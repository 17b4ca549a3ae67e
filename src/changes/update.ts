import { and, eq, getTableColumns, not, or, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { derive, type Resource, type Stored, storedColumns, type Versioned } from "../db/resource.ts";
import { compile, type QueryBuilder } from "../db/statement.ts";
import type { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { insertEntry, isUnused } from "../idempotency/entry.ts";
import { ANY_NUMBER, changedRow, changeFirst, changeLast, compileEvents, type Consequence, ifChanged } from "./plan.ts";
import { concerned, type Rule } from "./rule.ts";
import { hasVersion, type Target } from "./version.ts";

/** A row after its change, with a reason for `Rule.error` if the change broke the rule. */
export type Found<Body, Columns = unknown> = Stored<Body> & { broken: unknown } & {
  [Column in keyof Columns]: Columns[Column] extends SQL.Aliased<infer Value> ? Value : never;
};

/** The patch of one row among several. The other fields are those to change. */
export interface Item {
  id: Int64;
  /** The version that the row has to have. Any unless given. */
  version?: number | undefined;
}

interface Options<Field extends string, Columns> {
  /** The failure when there is no such row. */
  missing: () => ApiError;
  rule?: Rule;
  /** More columns to read with a row. */
  columns?: Columns;
  /** Of one row: columns that change with a field, with SQL for their values. */
  also?: { [Name in Field]?: { [column: string]: SQL } };
  /**
   * One statement sets all fields, and keeps the value of each whose parameter is null. For fields that have no index and are never null.
   */
  together?: boolean;
  /** A field that each patch names. */
  required?: Field;
  /** Of one row: the condition of its change, unless it is that a value differs. */
  differs?: SQL;
  companions?: (target: Target) => readonly Consequence[];
}

const changed = { changed: sql<1>`1`.as("changed") };
const stored = { stored: sql<1>`1`.as("stored") };

/**
 * Compiles the patches of one row, and of several rows, all of them or none. There is one statement for each set of fields, so that an
 * omitted field and its index are not written, unless the fields are set `together`. A row that does not change keeps its version, and has
 * no event.
 *
 * @param event undefined for a resource whose changes leave none. It has no patches of several rows.
 */
export function compileUpdate<
  Body,
  Table extends Versioned,
  Field extends string & keyof Table["_"]["columns"],
  Event extends EventType | undefined,
  Columns extends { [column: string]: SQL.Aliased } = {},
>(
  operation: string,
  resource: Resource<Body, Table> & { readonly fields: { readonly [Name in Field]: unknown } },
  event: Event,
  {
    missing,
    rule,
    columns,
    also = {},
    together = false,
    required,
    differs,
    companions,
  }: Options<NoInfer<Field>, Columns>,
) {
  type Patch = { [Name in Field]?: unknown };
  const { table, body } = resource;
  const columnOf = (name: string) => table[name as keyof Table] as SQLiteColumn;

  /** Statements for each set of fields: 2^n sets of n fields, or one. All sets are known, because the build writes the SQL of each. */
  function byFields<Of>(compileFields: (fields: Field[]) => Of) {
    const names = Object.keys(resource.fields) as Field[];
    const some = names.reduce<Field[][]>((sets, name) => [...sets, ...sets.map((set) => [...set, name])], [[]]);
    const sets = together ? [names] : some.filter((set) => required === undefined || set.includes(required));
    const statements = new Map(sets.map((fields) => [fields.join(), compileFields(fields)]));
    return (patches: readonly Patch[]): Of => {
      const fields = names.filter((field) => together || patches.some((patch) => patch[field] !== undefined));
      return statements.get(fields.join()) as Of;
    };
  }

  /**
   * SQL that the statements for one row and for several have in common.
   *
   * @param isNamed the condition that a patch names a field, unless each does.
   * @param more values of other columns.
   */
  function changeOf(
    fields: Field[],
    id: SQLWrapper,
    valueOf: (field: Field) => SQL,
    isNamed?: (field: string | undefined) => SQL | undefined,
    more: { [column: string]: SQL } = {},
  ) {
    const own = concerned(rule, fields);
    const derived = Object.entries(resource.derived ?? {}).filter(([, { field }]) => fields.includes(field as Field));
    const written = [...fields, ...derived.map(([column]) => column as Field)];
    const values: { [column: string]: SQL } = {
      ...Object.fromEntries(written.map((field) => [field, valueOf(field)])),
      ...more,
    };
    const after = { id, value: (field: string) => values[field] ?? sql`${columnOf(field)}` };
    const broken = (db: QueryBuilder) => (own && and(isNamed?.(own.field), own.isBroken(db, after))) ?? sql`0`;
    return {
      after,
      set: { ...values, version: sql`${table.version} + 1` },
      differs: or(...fields.map((field) => sql`${columnOf(field)} IS NOT ${values[field]}`)) ?? sql`0`,
      broken,
      found: (db: QueryBuilder) => ({
        ...storedColumns(resource),
        version: sql<number>`${table.version}`.as("version"),
        broken: sql`${own?.reason?.(db, after) ?? broken(db)}`.as("broken"),
        ...columns,
      }),
    };
  }

  const id = sql.placeholder("id");
  const record = compileEvents(`${operation}.record`, resource, event, () => changedRow(table, id));
  const nameOf = (fields: Field[]) => `${operation}.${fields.join("+") || "nothing"}`;
  const one = byFields((fields) => {
    const name = nameOf(fields);
    const more = Object.assign({}, ...fields.map((field) => also[field]));
    const valueOf = (field: Field) => {
      const given = sql.placeholder(field);
      return together ? sql`coalesce(${given}, ${columnOf(field)})` : sql`${given}`;
    };
    const change = changeOf(fields, id, valueOf, undefined, more);
    const isAllowed = (db: QueryBuilder) => and(hasVersion(table.version, sql.placeholder), not(change.broken(db)));
    const update = (db: QueryBuilder, isNew?: SQL) =>
      db
        .update<Versioned>(table)
        .set(change.set)
        .where(and(eq(table.id, id), differs ?? change.differs, isAllowed(db), isNew))
        .returning(changed);
    return {
      // A patch without fields changes nothing.
      change: fields.length > 0 && {
        always: compile(`${name}.change`, (db) => update(db)),
        once: compile(`${name}.once`, (db) => update(db, isUnused(db, sql.placeholder))),
      },
      // A patch that had nothing to change uses its key, and a refused one does not.
      store: compile(`${name}.store`, (db) => {
        // A patch without fields is alone: `changes()` would tell of an earlier transaction.
        const isStored = or(fields.length > 0 ? ifChanged(sql`1`) : undefined, isAllowed(db));
        const where = and(eq(table.id, id), isUnused(db, sql.placeholder), isStored);
        return insertEntry(db, sql.placeholder, resource, where).returning(stored);
      }),
      select: compile<object, Found<Body, Columns>[]>(
        `${name}.select`,
        (db) =>
          db
            .select(change.found(db))
            .from(table as Versioned)
            .where(eq(table.id, id)) as never,
      ),
    };
  });

  // The events come before the UPDATE, and with an `Idempotency-Key` the entry before the events: afterwards, no row tells whether the
  // batch changed it. So both are made of the rows as they will be.
  const ofSeveral = (fields: Field[]) => {
    const name = `${nameOf(fields)}.several`;
    // One text, because D1 binds at most 100 values.
    const [items, count] = [sql.placeholder("items"), sql.placeholder("count")];
    // No items, and so no rows, from NULL.
    const each = (items: SQLWrapper) => sql`json_each(${items}) AS item`;
    // Without CAST, an id would be a text, and the events and the responses would show it as one.
    const id = sql`CAST(item.value ->> 'id' AS INTEGER)`;
    const isNamed = (field = "id") => sql`json_type(item.value, ${sql.raw(`'$.${field}'`)}) IS NOT NULL`;
    const valueOf = (field: Field) => {
      const value = sql`CAST(item.value ->> ${sql.raw(`'${field}' AS ${columnOf(field).getSQLType()}`)})`;
      return sql`iif(${isNamed(field)}, ${value}, ${columnOf(field)})`;
    };
    const { after, set, differs, broken, found } = changeOf(fields, id, valueOf, isNamed);
    const isMet = (db: QueryBuilder) =>
      sql`(coalesce(${table.version} = item.value ->> 'version', 1) AND NOT ${broken(db)})`;
    const rowsOf = (items: SQLWrapper) => sql`${each(items)} CROSS JOIN ${table} ON ${table.id} = ${id}`;
    /** The rows as they will be, under the name of the table. */
    const rowsAfter = (db: QueryBuilder, items: SQLWrapper) => {
      const row = Object.entries(getTableColumns(table)).map(([field, column]) => {
        const value = field === "version" ? sql`${column} + (${differs})` : after.value(field);
        return sql`${value} AS ${sql.identifier(column.name)}`;
      });
      const more = sql`item.key AS place, ${differs} AS differs, ${isMet(db)} AS met`;
      return sql`(SELECT ${sql.join(row, sql`, `)}, ${more} FROM ${rowsOf(items)}) AS ${table}`;
    };
    const record = (db: QueryBuilder, items: SQLWrapper) =>
      insertEvents(db, event as EventType, resource, sql`differs`, { from: rowsAfter(db, items) });
    const unlessKnown = (db: QueryBuilder) => sql`iif(${isUnused(db, sql.placeholder)}, ${items}, NULL)`;
    const select = (db: QueryBuilder, items: SQLWrapper) => db.select(found(db)).from(rowsOf(items)) as never;
    return {
      record: compile(`${name}.record`, (db) => {
        const met = sql`SELECT count(*) FROM ${rowsOf(items)} WHERE ${isMet(db)}`;
        return record(db, sql`iif((${met}) = ${count}, ${items}, NULL)`);
      }),
      store: compile(`${name}.store`, (db) =>
        insertEntry(db, sql.placeholder, resource, undefined, {
          from: rowsAfter(db, unlessKnown(db)),
          body: sql`json_group_array(json(json_insert(${body()}, '$.version', ${table.version})) ORDER BY place)`,
          having: sql`sum(met) = ${count}`,
        }).returning(stored),
      ),
      recordStored: compile(`${name}.recordStored`, (db) => record(db, ifChanged(items))),
      update: compile(`${name}.change`, (db) =>
        db
          .update<Versioned>(table)
          .set(set)
          .from(each(ifChanged(items, ANY_NUMBER)))
          .where(and(eq(table.id, id), differs))
          .returning(changed),
      ),
      select: compile<object, Found<Body>[]>(`${name}.select`, (db) => select(db, items)),
      // The entry has the response, if there is one.
      selectUnlessKnown: compile<object, Found<Body>[]>(`${name}.selectUnlessKnown`, (db) =>
        select(db, unlessKnown(db)),
      ),
    };
  };

  return {
    missing,
    rule,
    /** Of one row. The patch has the parameters of `also` too. */
    plans(target: Target, patch: Patch & { [parameter: string]: unknown }, attempt: Attempt | undefined) {
      const { change, store } = one([patch]);
      const once = { ...derive(resource, patch), ...target, ...attempt };
      const entry = attempt && store(once);
      if (!change) return [changeFirst({ events: undefined, entry })];
      const update = attempt === undefined ? change.always(once) : change.once(once);
      return [changeFirst({ change: update, events: record(once), companions: companions?.(once), entry })];
    },
    select: (target: Target, patch: Patch) => one([patch]).select({ ...patch, ...target }),
    /** Compiles the patches of several rows, each with the statement that reads them afterwards. */
    compileSeveral: () => {
      const several = byFields(ofSeveral);
      return (items: Event extends EventType ? readonly (Item & Patch)[] : never, attempt: Attempt | undefined) => {
        const { record, store, recordStored, update, select, selectUnlessKnown } = several(items);
        const rows = JSON.stringify(items.map((item) => derive(resource, item)));
        const once = { items: rows, count: items.length, ...attempt };
        return attempt === undefined
          ? { plan: changeLast({ events: record(once), change: update(once) }), select: select(once) }
          : {
              plan: changeLast({ entry: store(once), events: recordStored(once), change: update(once) }),
              select: selectUnlessKnown(once),
            };
      };
    },
  };
}
