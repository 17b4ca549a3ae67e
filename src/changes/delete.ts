import { and, eq, sql } from "drizzle-orm";
import { jsonObjectOf } from "../db/json-object.ts";
import type { Resource } from "../db/resource.ts";
import { compile, type Parameter } from "../db/statement.ts";
import type { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import { preconditionFailed } from "../http/precondition.ts";
import { type Call, changedRow, changeLast, run } from "./plan.ts";
import { keeps, type Rule } from "./rule.ts";
import { hasVersion, type Target } from "./version.ts";

/**
 * Compiles the deletion of a row: its event, while the row still exists, and the DELETE, which follows from it. The event names the next
 * version.
 *
 * @param missing the failure when there is no such row.
 * @returns a function that deletes a row. It throws `missing`, the error of the rule or `precondition_failed`.
 */
export function compileDeletion(
  operation: string,
  resource: Resource<unknown>,
  event: EventType,
  missing: () => ApiError,
  rule: Rule,
) {
  const { table } = resource;
  const row = (parameter: Parameter<{ id: Int64 }>) => ({
    id: parameter("id"),
    value: () => sql`NULL`,
    parameter: undefined as never,
  });
  const record = compile(`${operation}.record`, (db, parameter: Parameter<Target>) =>
    insertEvents(
      db,
      event,
      resource,
      and(eq(table.id, parameter("id")), hasVersion(table.version, parameter), keeps(rule, db, row(parameter))),
      { data: jsonObjectOf<{ id: Int64 }>({ id: table.id }), version: sql`${table.version} + 1` },
    ),
  );
  const remove = compile(`${operation}.remove`, (db, parameter: Parameter<{ id: Int64 }>) =>
    db
      .delete(table)
      .where(changedRow(table, parameter("id")))
      .returning({ deleted: sql<1>`1`.as("deleted") }),
  );
  const select = compile(`${operation}.select`, (db, parameter: Parameter<{ id: Int64 }>) =>
    db
      .select({ broken: sql<0 | 1>`${rule.isBroken(db, row(parameter))}`.as("broken") })
      .from(table)
      .where(eq(table.id, parameter("id"))),
  );
  return async (call: Call, target: Target): Promise<void> => {
    // Without a retry: if the first attempt succeeded, the second would respond 404 to the caller whose request deleted the row.
    const plan = changeLast({ events: record(target), change: remove(target) });
    const { changed, found } = await run(call, [plan], select(target));
    if (changed.length > 0) return;
    const [present] = found;
    if (present === undefined) throw missing();
    throw present.broken ? rule.error(call.c, present.broken) : preconditionFailed();
  };
}
