import { eq, type SQL } from "drizzle-orm";
import type { SQLiteColumn, SQLiteTable } from "drizzle-orm/sqlite-core";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { compile, type Parameter } from "./statement.ts";

/** A table whose rows count their changes. */
export type Versioned = SQLiteTable & { id: SQLiteColumn; version: SQLiteColumn };

/** A column that follows from a field. Clients never see it. Each change that names the field writes it too. */
export interface Derived {
  readonly field: string;
  readonly from: (value: string) => string | null;
}

/** A table, and the body of a row as clients see it. */
export interface Resource<Body, Table extends Versioned = Versioned, Column extends string = string> {
  readonly table: Table;
  readonly derived?: { readonly [Name in Column]: Derived };
  /** SQL for the body. It is the only place that decides what of a row is on the wire: responses, events and retries use it. */
  readonly body: () => SQL<Json<Body>>;
}

/** The values of a row or of a patch, with those of the columns that follow from them: null for one whose field has no value. */
export function derive<Values extends object, Column extends string>(
  { derived }: Pick<Resource<unknown, Versioned, Column>, "derived">,
  values: Values,
): Values & { readonly [Name in Column]: string | null } {
  const all = { ...values } as { [column: string]: unknown };
  for (const column in derived) {
    const { field, from }: Derived = derived[column];
    const value = all[field] as string | null | undefined;
    all[column] = value === undefined || value === null ? null : from(value);
  }
  return all as ReturnType<typeof derive<Values, Column>>;
}

/** A row as reads select it. */
export interface Stored<Body> {
  id: Int64;
  version: number;
  body: Json<Body>;
}

/** The body with the version as its last field. */
export const withVersion = <Body>({ body, version }: Stored<Body>): Json<Body & { version: number }> =>
  `${body.slice(0, -1)},"version":${version}}`;

/** The columns of `Stored`. */
export const storedColumns = <Body>({ table, body }: Resource<Body>) => ({
  id: exact(table.id).as("id"),
  version: table.version,
  body: body().as("body"),
});

/** The SELECT of one row by its id. */
export const compileSelect = <Body>(operation: string, resource: Resource<Body>) =>
  compile<{ id: Int64 }, Stored<Body>[]>(
    `${operation}.select`,
    (db, parameter: Parameter<{ id: Int64 }>) =>
      db
        .select(storedColumns(resource))
        .from(resource.table)
        .where(eq(resource.table.id, parameter("id"))) as never,
  );
