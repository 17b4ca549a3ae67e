// What the patches of one row and of several have in common.
import type { SQL } from "drizzle-orm";
import type { Resource, Stored, Versioned } from "../db/resource.ts";

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
