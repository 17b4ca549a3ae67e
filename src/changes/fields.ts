// What the patches of one row and of several have in common.
import { or, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { type Derived, type Resource, type Stored, storedColumns, type Versioned } from "../db/resource.ts";
import type { Parameter, QueryBuilder } from "../db/statement.ts";
import type { Rule } from "./rule.ts";

/** A resource with the fields that a patch may name. */
export type Patched<Body, Table extends Versioned, Field extends string, Column extends string> = Resource<
  Body,
  Table,
  Column
> & { readonly fields: { readonly [Name in Field]: unknown } };

/**
 * Fields with an index, in the sets that a statement writes together: it writes these indexes, also for a value that stays. A patch uses the
 * first set that has all that it names. Every statement writes the fields that are in no set.
 */
export type Sets<Field extends string> = readonly [...(readonly Field[])[], readonly Field[]];

/** A patch. What is undefined is not named. */
export type Patch<Field extends string> = { readonly [Name in Field]?: unknown };

export const namesOf = <Field extends string>({ fields }: { fields: { readonly [Name in Field]: unknown } }) =>
  Object.keys(fields) as Field[];

/** For each rule, a reason for its error if the change broke it. */
type Broken = `broken${number}`;
export const brokenBy = (rule: number): Broken => `broken${rule}`;

/** A row after its change. */
export type Found<Body, Columns = unknown> = Stored<Body> & { [rule in Broken]?: unknown } & {
  [Column in keyof Columns]: Columns[Column] extends SQL.Aliased<infer Value> ? Value : never;
};

/**
 * A statement for each set.
 *
 * @param compileSet compiles the one that writes some fields, under a name.
 * @returns a function that finds the statement for some patches.
 */
export function compileSets<Field extends string, Of>(
  name: string,
  names: readonly Field[],
  sets: Sets<Field>,
  compileSet: (name: string, written: readonly Field[]) => Of,
  // oxlint-disable-next-line typescript/no-generated-empty-object-type -- the fields are those of the caller
): (patches: readonly Patch<Field>[]) => Of {
  const indexed = new Set(sets.flat());
  const others = names.filter((field) => !indexed.has(field));
  const statements = sets.map((set) => ({
    set,
    statement: compileSet([name, ...set].join("."), [...others, ...set]),
  }));
  return (patches) => {
    const named = [...indexed].filter((field) => patches.some((patch) => patch[field] !== undefined));
    const found = statements.find(({ set }) => named.every((field) => set.includes(field)));
    if (found === undefined) throw new Error(`No set of ${name} has ${named.join()}`);
    return found.statement;
  };
}

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
