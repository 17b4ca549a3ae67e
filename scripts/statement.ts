// In the place of src/db/statement.ts while scripts/compile-statements.ts runs the modules of the Worker. Drizzle makes the SQL here.
import { is, Param, Placeholder, type Query, type SQL, sql } from "drizzle-orm";
import {
  SQLiteAsyncDialect,
  SQLiteDeleteBase,
  SQLiteInsertBuilder,
  SQLiteSelectBuilder,
  SQLiteUpdateBuilder,
} from "drizzle-orm/sqlite-core";
import type { QueryBuilder } from "../src/db/statement.ts";

type Build = (db: QueryBuilder, parameter: (name: string) => Placeholder) => { toSQL(): Query };
const builds = new Map<string, Build>();

export function compile(name: string, build: Build): void {
  if (builds.has(name)) throw new Error(`Two statements have the name ${name}`);
  builds.set(name, build);
}

/** The placeholders that are typed: those of `parameter`. */
const placeholders = new WeakSet<object>();
function parameter(name: string): Placeholder {
  const placeholder = sql.placeholder(name);
  placeholders.add(placeholder);
  return placeholder;
}

/** The calls of functions that compile statements, by their places in the source, that have run. */
const reachedPlaces = new Set<string>();
export function reached<Compile>(place: string, compile: Compile): Compile {
  reachedPlaces.add(place);
  return compile;
}

/**
 * The SQL of each statement by its name, with `:name` for each parameter.
 *
 * @param places of the calls that have to have run.
 * @throws Error when one has not, or when a statement cannot be built.
 */
export function textsOf(places: readonly string[]): Map<string, string> {
  const missed = places.filter((place) => !reachedPlaces.has(place));
  if (missed.length > 0)
    throw new Error(
      `The build does not see these statements. Compile them when their module is loaded: ${missed.join(", ")}`,
    );
  const dialect = plainDialect();
  const session = undefined as never;
  // The builders alone: drizzle's class of a database wants a connection.
  const db = {
    select: (fields: never) => new SQLiteSelectBuilder({ fields, session, dialect }),
    insert: (table: never) => new SQLiteInsertBuilder(table, session, dialect),
    update: (table: never) => new SQLiteUpdateBuilder(table, session, dialect),
    delete: (table: never) => new SQLiteDeleteBase(table, session, dialect),
  } as unknown as QueryBuilder;
  return new Map([...builds].map(([name, build]) => [name, textOf(name, build(db, parameter).toSQL())]));
}

/**
 * Writes names without quotation marks: in them, SQLite takes the name of a column that an instance lacks for a text (sqlite.org/quirks.html,
 * section 8), and a replica without a migration would return it as the value. Names the table of each selected column, which drizzle leaves
 * out when there is one table: `json_each` beside it has an `id`, too.
 */
function plainDialect(): SQLiteAsyncDialect {
  const dialect = new SQLiteAsyncDialect();
  dialect.escapeName = (name) => name;
  // Private in drizzle's types. Its second parameter leaves the table out.
  const methods = dialect as unknown as { buildSelection: (fields: unknown) => SQL };
  const buildSelection = methods.buildSelection.bind(dialect);
  methods.buildSelection = (fields) => buildSelection(fields);
  return dialect;
}

function textOf(name: string, { sql: text, params }: Query): string {
  const parts = text.split("?");
  if (parts.length !== params.length + 1 || parts.some((part) => /:\w/.test(part)))
    throw new Error(`${name} has a question mark or a colon that is no parameter: ${text}`);
  return parts.reduce((before, part, index) => before + written(name, params[index - 1]) + part);
}

/** A parameter as `:name`, and a constant as SQL. */
function written(name: string, param: unknown): string {
  const value = is(param, Param) ? param.value : param;
  const probe = {};
  const isPlain = !is(param, Param) || param.encoder.mapToDriverValue(probe) === probe;
  if (isPlain && is(value, Placeholder)) {
    if (!placeholders.has(value)) throw new Error(`${name} makes the placeholder ${value.name} by itself`);
    return `:${value.name}`;
  }
  if (isPlain && typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (isPlain && Number.isSafeInteger(value)) return String(value);
  throw new Error(`A parameter of ${name} has no plain value`);
}
