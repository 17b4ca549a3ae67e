import { not, type SQL, type SQLWrapper } from "drizzle-orm";
import type { Context } from "hono";
import type { QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { ApiError } from "../errors.ts";

/** A row as its change makes it. */
export interface After {
  /** SQL for its id. NULL for a new row. */
  id: SQLWrapper;
  /** SQL for the value of a field. */
  value: (field: string) => SQLWrapper;
}

/** A rule for the changes of a resource. The transaction of a change decides it, so that no race is possible. */
export interface Rule {
  /** The field that it is about: a change that does not name it keeps the rule. Every change can break it unless given. */
  readonly field?: string;
  /** SQL that is true for a row whose change breaks the rule. */
  readonly isBroken: (db: QueryBuilder, after: After) => SQL;
  /** SQL for what `error` has to know of such a row. NULL for any other. */
  readonly reason?: Rule["isBroken"];
  readonly error: (c: Context<AppEnv>, reason: unknown) => ApiError;
}

/** The rule, if a change of these fields can break it. */
export const concerned = (rule: Rule | undefined, fields: readonly string[]) =>
  rule?.field === undefined || fields.includes(rule.field) ? rule : undefined;

/** The condition that a change keeps the rule. */
export const keeps = (rule: Rule | undefined, db: QueryBuilder, after: After) => rule && not(rule.isBroken(db, after));
