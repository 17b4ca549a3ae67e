// The SQL of a change of rows. The bundle leaves this module out, as it does drizzle (wrangler.toml, `[alias]`).
import { or, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Derived, storedColumns, type Versioned } from "../db/resource.ts";
import type { Parameter, QueryBuilder } from "../db/statement.ts";
import { brokenBy, namesOf, type Patched } from "./fields.ts";
import type { Rule } from "./rule.ts";

/** SQL for the values that a patch has. */
interface Given<Field extends string, Column extends string, More extends object> {
  id: SQLWrapper;
  /** Whether the patch names a field. */
  isNamed: (field: Field) => SQL;
  /** The value that it has for a field, or for a column that follows from one. */
  value: (column: Field | Column) => SQLWrapper;
  parameter: Parameter<More>;
}

/** SQL for a change of rows. */
export function changeOf<
  Body,
  Table extends Versioned,
  Field extends string,
  Column extends string,
  More extends object,
>(
  resource: Patched<Body, Table, Field, Column>,
  rules: readonly Rule<Field, More>[],
  { id, isNamed, value, parameter }: Given<Field, Column, More>,
) {
  const { table, derived } = resource;
  const names = namesOf<Field>(resource);
  const columnOf = (name: string) => table[name as keyof Table] as SQLiteColumn;
  const follows: { readonly [column: string]: Derived } = derived ?? {};
  /** The field that a column has or follows from. */
  const fieldOf = (column: string) => names.find((name) => name === (follows[column]?.field ?? column));
  /** The value of a column after the change. */
  const after = (column: string) => {
    const field = fieldOf(column);
    const present = columnOf(column);
    return field === undefined
      ? sql`${present}`
      : sql`iif(${isNamed(field)}, ${value(column as Field | Column)}, ${present})`;
  };
  // The rule of a field holds for a patch that names it. With the present value beside, SQLite would not search an index for the value.
  const rowOf = (rule: Rule<Field, More>) => ({
    id,
    value: (field: Field) => (field === rule.field ? value(field) : after(field)),
    parameter,
  });
  const breaks = (db: QueryBuilder, rule: Rule<Field, More>) => {
    const isBroken = rule.isBroken(db, rowOf(rule));
    return rule.field === undefined ? isBroken : sql`iif(${isNamed(rule.field)}, ${isBroken}, 0)`;
  };
  const broken = (db: QueryBuilder) => or(...rules.map((rule) => breaks(db, rule))) ?? sql`0`;
  return {
    after,
    broken,
    /** The columns that a statement for some fields writes. */
    set: (written: readonly Field[]): { [column: string]: SQL } => {
      const follow = Object.keys(follows).filter((column) => written.includes(fieldOf(column) as Field));
      const columns = [...written, ...follow].map((column) => [column, after(column)]);
      return { ...Object.fromEntries(columns), version: sql`${table.version} + 1` };
    },
    differs: (fields: readonly Field[] = names) =>
      or(...fields.map((field) => sql`${columnOf(field)} IS NOT ${after(field)}`)) ?? sql`0`,
    found: (db: QueryBuilder) => ({
      ...storedColumns(resource),
      version: sql<number>`${table.version}`.as("version"),
      ...Object.fromEntries(
        rules.map((rule, index) => {
          const reason = rule.reason?.(db, rowOf(rule)) ?? breaks(db, rule);
          return [brokenBy(index), sql`${reason}`.as(brokenBy(index))];
        }),
      ),
    }),
  };
}
