import { and, eq, type SQL, sql } from "drizzle-orm";
import { jsonObjectOf } from "../db/json-object.ts";
import type { Resource, Versioned } from "../db/resource.ts";
import { compileConsequence, sequence } from "../db/sequence.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { insertEvents } from "../feed/event.ts";
import type { EventType } from "../feed/table.ts";
import { hasVersion, type Target } from "./version.ts";

/**
 * Compiles the two statements of a deletion: the event, while the row still exists, and the DELETE, which runs only after an event. The
 * event names the next version. The DELETE returns a row if it deleted one.
 *
 * @param condition under which the row may be deleted, beside the preconditions.
 */
export function compileDeletion(
  resource: Resource<unknown>,
  type: EventType,
  condition: (db: QueryBuilder, parameter: Parameter<Target>) => SQL,
) {
  const { table } = resource;
  const record = compile((db, parameter: Parameter<Target>) => {
    const where = and(eq(table.id, parameter("id")), hasVersion(table.version, parameter), condition(db, parameter));
    return insertEvents(db, type, resource, where, {
      data: jsonObjectOf<{ id: Int64 }>({ id: table.id }),
      version: sql`${table.version} + 1`,
    });
  });
  const remove = compileConsequence((db, parameter: Parameter<{ id: Int64 }>, ifChanged) =>
    db
      .delete<Versioned>(table)
      .where(eq(table.id, ifChanged(parameter("id"))))
      .returning({ deleted: sql<1>`1`.as("deleted") }),
  );
  return (target: Target) => sequence(record(target), remove(target));
}
