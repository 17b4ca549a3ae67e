// A resource that clients write: each field is declared once, and everything that needs all fields derives from that.
import { type SQLWrapper, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { jsonObjectOf } from "../db/json-object.ts";
import { type Derived, type Resource, type Versioned } from "../db/resource.ts";
import { lazy } from "../lazy.ts";
import { jsonObject } from "./validation.ts";

/** A field of a body. */
export interface Field<
  Schema extends z.ZodMiniType = z.ZodMiniType,
  New extends z.ZodMiniType = z.ZodMiniType,
  Changed extends z.ZodMiniType = z.ZodMiniType,
  MayBeAbsent extends boolean = boolean,
> {
  /** The rule of a value. */
  readonly schema: () => Schema;
  /** The schema in a creation. */
  readonly created: () => New;
  /** The schema in a patch. */
  readonly changed: () => Changed;
  /** Whether its column may be NULL. A body then omits the field. */
  readonly mayBeAbsent: MayBeAbsent;
}

/** A field that every creation has. */
export const required = <Schema extends z.ZodMiniType>(schema: () => Schema) => ({
  schema,
  created: schema,
  changed: () => z.optional(schema()),
  mayBeAbsent: false as const,
});

/** A field with a value that a creation may leave to the service. */
export const defaulted = <Schema extends z.ZodMiniType>(schema: () => Schema, value: z.output<Schema>) => ({
  schema,
  created: () => z._default(schema(), value as z.util.NoUndefined<z.output<Schema>>),
  changed: () => z.optional(schema()),
  mayBeAbsent: false as const,
});

/** A field that a resource may lack: NULL in its column, absent in a body. A null in a patch removes it. */
export const optional = <Schema extends z.ZodMiniType>(schema: () => Schema) => ({
  schema,
  created: () => z.optional(schema()),
  changed: () => z.optional(z.nullable(schema())),
  mayBeAbsent: true as const,
});

interface Fields {
  [field: string]: Field;
}
/** Shows the fields instead of the types that they come from. */
type Plain<Type> = { [Key in keyof Type]: Type[Key] } & {};
type IfAbsent<One extends Field, Yes, No> = One["mayBeAbsent"] extends true ? Yes : No;
/** What clients see of a field: they get what they send. */
type Value<One extends Field> = z.input<ReturnType<One["schema"]>>;

/** A resource with these fields as clients see it. */
type BodyOf<All extends Fields> = Plain<
  { id: number } & { [Name in keyof All as IfAbsent<All[Name], never, Name>]: Value<All[Name]> } & {
    [Name in keyof All as IfAbsent<All[Name], Name, never>]?: Value<All[Name]>;
  }
>;
/** The values of a row, as its INSERT binds them. */
type RowOf<All extends Fields> = Plain<{
  [Name in keyof All]: z.output<ReturnType<All[Name]["schema"]>> | IfAbsent<All[Name], null, never>;
}>;
type Columns<All extends Fields> = Parameters<typeof jsonObjectOf<BodyOf<All>>>[0];
type Schemas<All extends Fields, Of extends "created" | "changed"> = { [Name in keyof All]: ReturnType<All[Name][Of]> };
/** Refuses a field whose column is missing, is not for clients, or may be NULL when the field may not be absent, or the reverse. */
type Checked<All extends Fields, Columns extends { [column: string]: { _: { notNull: boolean } } }> = {
  [Name in keyof All]: Name extends Exclude<keyof Columns, "id" | "version">
    ? Columns[Name]["_"]["notNull"] extends IfAbsent<All[Name], false, true>
      ? unknown
      : `Use optional() for ${Name & string} if its column may be NULL, and only then`
    : `The table has no column ${Name & string} for clients`;
};

/** A resource with its fields. */
export interface Shape<All extends Fields, Table extends Versioned, Column extends string = string> extends Resource<
  BodyOf<All>,
  Table,
  Column
> {
  readonly fields: All;
  /** The body of a creation. Other fields, `id` among them, are ignored. */
  readonly creation: () => z.ZodMiniObject<Schemas<All, "created">>;
  /** The body of a patch. Other fields are ignored. */
  readonly patch: () => z.ZodMiniObject<Schemas<All, "changed">>;
  /** The values of a row, from the validated body of a creation. */
  readonly row: (created: { [Name in keyof All]?: unknown }) => RowOf<All>;
  /** The columns of an INSERT, from SQL for each field. */
  readonly values: (sqlOf: (field: keyof All & string) => SQLWrapper) => { [Name in keyof All]: SQLWrapper };
}

/** The body of a shape, for `type Animal = Body<typeof pet>`. */
export type Body<One> = One extends Resource<infer Of> ? Of : never;

/**
 * Declares a resource.
 *
 * @param table with a column for each field. A field without one does not compile, and clients never see a column without a field.
 * @param fields in the order of the body, where those that may be absent come last. Add new ones at the end, optional (`valuesOf` in
 *   src/idempotency/attempt.ts).
 * @param derived the columns that follow from a field.
 */
export function shapeOf<Table extends Versioned, All extends Fields, Column extends string = never>(
  table: Table,
  fields: All & Checked<All, Table["_"]["columns"]>,
  derived?: { readonly [Name in Column & keyof Table["_"]["columns"]]: Derived & { field: keyof All } },
): Shape<All, Table, Column> {
  const names = Object.keys(fields) as (keyof All & string)[];
  const each = <Each>(make: (field: Field, name: keyof All & string) => unknown, some = names) =>
    Object.fromEntries(some.map((name) => [name, make(fields[name] as Field, name)])) as Each;
  const column = (_field: Field, name: keyof All) => table[name as keyof Table];
  const [lasting, absent] = [false, true].map((mayBeAbsent) =>
    each<object>(
      column,
      names.filter((name) => (fields[name] as Field).mayBeAbsent === mayBeAbsent),
    ),
  );
  return {
    table,
    ...(derived && { derived }),
    body: () => jsonObjectOf<BodyOf<All>>({ id: table.id, ...lasting } as Columns<All>, { ...absent }),
    fields,
    creation: lazy(() => jsonObject(each<Schemas<All, "created">>(({ created }) => created()))),
    patch: lazy(() => jsonObject(each<Schemas<All, "changed">>(({ changed }) => changed()))),
    row(created) {
      const row: { [Name in keyof All]?: unknown } = {};
      for (const name of names) row[name] = created[name] ?? null;
      return row as RowOf<All>;
    },
    values: (sqlOf) => each((_field, name) => sql`${sqlOf(name)}`),
  };
}
