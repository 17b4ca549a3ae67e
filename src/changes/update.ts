import { and, eq, not, or, type SQL, sql } from "drizzle-orm";
import { derive, type Versioned } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { ApiError } from "../errors.ts";
import { insertEntry, isUnused, NO_ATTEMPT, type Once } from "../idempotency/entry.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import type { EventType } from "../feed/table.ts";
import { changeOf } from "./change-of.ts";
import { compileSets, type Found, namesOf, type Patch, type Patched, type Sets } from "./fields.ts";
import { changedRow, changeFirst, compileEvents, type Consequence, ifChanged } from "./plan.ts";
import type { Rule } from "./rule.ts";
import { hasVersion, type Target } from "./version.ts";

/** The parameters of the fields and of the columns that follow from them, null for each that the patch does not name. */
type Values<Name extends string> = { readonly [Each in Name]: unknown } & {
  /** The fields that the patch names, separated and enclosed by commas. */
  readonly named: string;
};

/** What a patch may have beside its fields. */
export interface Options<Field extends string, More extends object = {}, Columns = {}> {
  /** The failure when there is no such row. */
  missing: () => ApiError;
  sets?: Sets<Field>;
  /** The first that is broken refuses. */
  rules?: readonly Rule<Field, More>[];
  /** More columns to read with a row. */
  columns?: Columns;
  /** More columns to write, with SQL for their values. */
  also?: (field: Parameter<Values<Field>>, parameter: Parameter<More>) => { [column: string]: SQL };
  /** The condition of the change, unless it is that a value differs. */
  differs?: SQL;
  companions?: (target: Target) => readonly Consequence[];
}

/**
 * Compiles the patches of one row. A row that does not change keeps its version, and has no event.
 *
 * @param event undefined for a resource whose changes leave none.
 */
export function compileUpdate<
  Body,
  Table extends Versioned,
  Field extends string & keyof Table["_"]["columns"],
  Column extends string,
  More extends object = {},
  Columns extends { [column: string]: SQL.Aliased } = {},
>(
  operation: string,
  resource: Patched<Body, Table, Field, Column>,
  event: EventType | undefined,
  { missing, sets = [[]], rules = [], columns, also, differs, companions }: Options<NoInfer<Field>, More, Columns>,
) {
  type Parameters = Values<Field | Column> & Target & Once & More;
  const table: Versioned = resource.table;
  const names = namesOf<Field>(resource);
  const changeWith = (parameter: Parameter<Parameters>) =>
    changeOf(resource, rules, {
      id: parameter("id"),
      isNamed: (field) => sql`instr(${parameter("named")}, ${sql.raw(`',${field},'`)})`,
      value: parameter,
      parameter,
    });
  const isThis = (parameter: Parameter<Parameters>) => eq(table.id, parameter("id"));
  const isAllowed = (db: QueryBuilder, parameter: Parameter<Parameters>) =>
    and(hasVersion(table.version, parameter), not(changeWith(parameter).broken(db)));

  const change = compileSets(`${operation}.change`, names, sets, (name, written) =>
    compile(name, (db, parameter: Parameter<Parameters>) => {
      const { set, differs: valueDiffers } = changeWith(parameter);
      return db
        .update(table)
        .set({ ...set(written), ...also?.(parameter, parameter) })
        .where(
          and(isThis(parameter), differs ?? valueDiffers(written), isAllowed(db, parameter), isUnused(db, parameter)),
        )
        .returning({ changed: sql<1>`1`.as("changed") });
    }),
  );
  const record = compileEvents(`${operation}.record`, resource, event, (_db, parameter: Parameter<Target>) =>
    changedRow(table, parameter("id")),
  );
  // A patch that had nothing to change uses its key, and a refused one does not.
  const store = compile(`${operation}.store`, (db, parameter: Parameter<Parameters>) => {
    const isStored = or(ifChanged(sql`1`), isAllowed(db, parameter));
    const where = and(isThis(parameter), isUnused(db, parameter), isStored);
    return insertEntry(db, parameter, resource, where).returning({ stored: sql<1>`1`.as("stored") });
  });
  type Given = Patch<Field> & More;
  function parametersOf(target: Target, patch: Given, attempt: Attempt | undefined): Parameters {
    const values = Object.fromEntries(names.map((name) => [name, patch[name] ?? null])) as { [Name in Field]: unknown };
    const named = `,${names.filter((name) => patch[name] !== undefined).join()},`;
    return { ...patch, ...derive(resource, values), named, ...target, ...(attempt ?? NO_ATTEMPT) };
  }
  return {
    missing,
    rules,
    plans(target: Target, patch: Given, attempt: Attempt | undefined) {
      const parameters = parametersOf(target, patch, attempt);
      return [
        changeFirst({
          change: change([patch])(parameters),
          events: record(parameters),
          companions: companions?.(target),
          entry: attempt && store(parameters),
        }),
      ];
    },
    /** What reads the row, for a patch that is an operation and no part of one. */
    compileSelect: () => {
      const select = compile<Parameters, Found<Body, Columns>[]>(
        `${operation}.select`,
        (db, parameter: Parameter<Parameters>) =>
          db
            .select({ ...changeWith(parameter).found(db), ...columns })
            .from(table)
            .where(isThis(parameter)) as never,
      );
      return (target: Target, patch: Given) => select(parametersOf(target, patch, undefined));
    },
  };
}
