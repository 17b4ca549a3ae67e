import { and, getTableColumns, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import { derive, type Resource, type Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import type { EventType } from "../feed/table.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { idInEntry, isUnused, NO_ATTEMPT, type Once } from "../idempotency/entry.ts";
import {
  type Call,
  changedRow,
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
export type NewRow<Table extends Versioned, Column> = {
  [Name in Exclude<keyof Table["_"]["columns"], "id" | "version" | Column>]: SQLWrapper;
};

/** Makes SQL for a new row, from SQL for each field. */
export type ValuesOf<Table extends Versioned, Field extends string, Column> = (
  field: (name: Field) => SQLWrapper,
  db: QueryBuilder,
) => NewRow<Table, Column>;

/** SQL for the columns of a new row that follow from a field. */
export const derivedColumns = <Column extends string>(
  { derived }: Pick<Resource<unknown, Versioned, Column>, "derived">,
  field: (name: Column) => SQLWrapper,
) => Object.fromEntries(Object.keys(derived ?? {}).map((column) => [column, sql`${field(column as Column)}`]));

/** The columns of an INSERT ... SELECT of a new row, in the order of the table, as drizzle requires. */
export function columnsOf(table: Versioned, values: object) {
  const all: { [column: string]: SQLWrapper } = { ...values, id: sql`NULL`, version: sql`1` };
  return Object.fromEntries(
    Object.keys(getTableColumns(table)).map((column) => [column, sql`${all[column]}`.as(column)]),
  );
}

/** What a creation may have beside its values. */
interface Circumstances<Field extends string> {
  /** The row that the values come from. */
  from?: { table: Versioned; where: (field: (name: Field) => SQLWrapper) => SQL | undefined };
  /** Its error is also that of a missing row of `from`. */
  rule?: Rule<Field>;
  companions?: (fields: { readonly [Name in Field]: unknown }) => readonly Consequence[];
}

/** A new row. The entry of a key has both, too. */
export interface Inserted<Body> {
  id: Int64;
  response: Json<Body>;
}

/** What a RETURNING of new rows has. */
export const inserted = <Body>({ table, body }: Resource<Body>) => ({
  id: exact(table.id).as("id"),
  response: body().as("response"),
});

/**
 * Compiles the creation of one row.
 *
 * @param event undefined for a resource whose changes leave none.
 * @param values the row, from SQL for each field.
 * @returns a function that creates a row in one round trip, and throws the error of the rule.
 */
export function compileInsert<Body, Table extends Versioned, Field extends string, Column extends string>(
  operation: string,
  resource: Resource<Body, Table, Column>,
  event: EventType | undefined,
  values: ValuesOf<Table, Field, Column>,
  { from, rule, companions }: Circumstances<NoInfer<Field>> = {},
) {
  type Fields = { readonly [Name in Field]: unknown };
  type Parameters = { readonly [Name in Field | Column]: unknown };
  const table: Versioned = resource.table;
  const after = (value: (name: Field) => SQLWrapper) => ({ id: sql`NULL`, value, parameter: undefined as never });
  function insertRow(db: QueryBuilder, parameter: Parameter<Parameters>, ...conditions: (SQL | undefined)[]) {
    const row = { ...values(parameter, db), ...derivedColumns<Column>(resource, parameter) };
    const where = and(from?.where(parameter), ...conditions);
    const into = db.insert(table);
    // Without a condition, there is nothing to select from.
    if (where === undefined) return into.values(row as never).returning(inserted(resource));
    const source = from?.table ?? sql`(SELECT 1)`;
    const selected = db.select(columnsOf(table, row)).from(source).where(where);
    return into.select(selected as never).returning(inserted(resource));
  }
  const newest = () => changedRow(table, sql`last_insert_rowid()`);
  const insert = compile<Parameters & Once, Inserted<Body>[]>(
    `${operation}.insert`,
    (db, parameter: Parameter<Parameters & Once>) =>
      insertRow(db, parameter, keeps(rule, db, after(parameter)), isUnused(db, parameter)) as never,
  );
  /** Without a key, and without the field of the rule: most creations have neither. */
  const insertPlain =
    rule?.mayBeAbsent &&
    compile<Parameters, Inserted<Body>[]>(
      `${operation}.insert.plain`,
      (db, parameter: Parameter<Parameters>) => insertRow(db, parameter) as never,
    );
  const record = compileEvents(`${operation}.record`, resource, event, newest);
  const store = compileEntry(`${operation}.store`, resource, newest);
  // The entry changed `last_insert_rowid()`, and has the id.
  const recordStored = compileEvents(
    `${operation}.recordStored`,
    resource,
    event,
    (db, parameter: Parameter<Attempt>) => changedRow(table, idInEntry(db, parameter)),
  );
  const reason = rule?.reason;
  const selectReason =
    reason &&
    compile(`${operation}.reason`, (db, parameter: Parameter<Fields>) =>
      db.select({ reason: sql`${reason(db, after(parameter))}`.as("reason") }).from(sql`(SELECT 1)`),
    );

  function planOf(fields: Fields, attempt: Attempt | undefined) {
    const row = derive(resource, fields);
    const more = companions?.(fields);
    if (attempt !== undefined)
      return changeFirst({
        change: insert({ ...row, ...attempt }),
        kept: store(attempt),
        events: recordStored(attempt),
        companions: more,
      });
    const isPlain = rule?.field !== undefined && fields[rule.field] === null;
    const change = isPlain && insertPlain ? insertPlain(row) : insert({ ...row, ...NO_ATTEMPT });
    return changeFirst({ change, events: record({}), companions: more });
  }
  return async (call: Call, fields: Fields): Promise<Inserted<Body> & Responded<Body>> => {
    const outcome = await run(call, [planOf(fields, call.attempt)], selectReason?.(fields));
    const { changed, entry, replayed } = settle(call, rule, outcome);
    const [row] = entry === undefined ? changed : [{ id: entry.resourceId, response: entry.response }];
    return { ...(row as Inserted<Body>), version: FIRST_VERSION, replayed };
  };
}

/** What a creation did. @throws ApiError that of the rule when it did nothing. */
export function settle<Row>(
  { c, attempt }: Call,
  rule: Pick<Rule, "error"> | undefined,
  { changed, entry, found }: Outcome<Row, { reason: unknown }>,
) {
  if (entry === undefined && (changed.length === 0 || attempt !== undefined))
    throw rule?.error(c, found[0]?.reason) ?? new Error("Nothing was inserted");
  return { changed, entry, replayed: changed.length === 0 };
}
