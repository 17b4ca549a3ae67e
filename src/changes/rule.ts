import { and, eq, exists, not, type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Context } from "hono";
import type { Versioned } from "../db/resource.ts";
import type { Parameter, QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { ApiError } from "../errors.ts";

/** A row as its change makes it. */
export interface After<Field extends string = never, More extends object = {}> {
  /** SQL for its id. NULL for a new row. */
  id: SQLWrapper;
  /** SQL for the value of a field. */
  value: (field: Field) => SQLWrapper;
  /** Of parameters beside the fields. */
  parameter: Parameter<More>;
}

/** A rule for the changes of a resource. The transaction of a change decides it, so that no race is possible. */
export interface Rule<Field extends string = never, More extends object = {}> {
  /** The field that it is about: a change that does not name it keeps the rule. Every change can break it unless given. */
  readonly field?: Field;
  /** Whether a row may lack the field. It then keeps the rule. */
  readonly mayBeAbsent?: true;
  /** SQL that is true for a row whose change breaks the rule. */
  readonly isBroken: (db: QueryBuilder, after: After<Field, More>) => SQL;
  /** SQL for what `error` has to know of such a row. NULL for any other. */
  readonly reason?: Rule<Field, More>["isBroken"];
  readonly error: (c: Context<AppEnv>, reason: unknown) => ApiError;
}

/** The condition that a change keeps the rule. */
export const keeps = <Field extends string, More extends object>(
  rule: Rule<Field, More> | undefined,
  db: QueryBuilder,
  after: After<Field, More>,
) => rule && not(rule.isBroken(db, after));

/** The rule that no other row has its value of a field. */
export const isUnique = <Field extends string>(
  table: Versioned & { readonly [Name in Field]: SQLiteColumn },
  field: Field,
  error: () => ApiError,
): Rule<Field> & { readonly field: Field } => ({
  field,
  isBroken: (db, { id, value }) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(table as Versioned)
        .where(and(eq(table[field], value(field)), sql`${table.id} IS NOT ${id}`)),
    ),
  error,
});
