import { and, eq, type SQL, sql } from "drizzle-orm";
import { jsonObjectOf } from "../db/json-object.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { ifChanged, insertEvents } from "./event.ts";
import type { Versioned } from "./memory.ts";
import { hasVersion, type Target } from "./patch.ts";
import type { EventType } from "./table.ts";

/**
 * Compiles the two statements of a deletion: the event, while the row still exists, and the DELETE, which runs only after an event. The
 * event names the next version.
 *
 * @param condition under which the row may be deleted, beside the preconditions.
 */
export function compileDeletion<Table extends Versioned>(
  table: Table,
  type: EventType,
  condition: (db: QueryBuilder, parameter: Parameter<Target>) => SQL,
) {
  const record = compile((db, parameter: Parameter<Target>) => {
    const data = jsonObjectOf<{ id: Int64 }>({ id: table.id });
    const where = and(eq(table.id, parameter("id")), hasVersion(table.version, parameter), condition(db, parameter));
    return insertEvents(db, type, table, data, where, sql`${table.version} + 1`);
  });
  const remove = compile((db, parameter: Parameter<{ id: Int64 }>) =>
    db
      .delete(table as Versioned)
      .where(eq(table.id, ifChanged(parameter("id"))))
      .returning({ deleted: sql<1>`1`.as("deleted") }),
  );
  return (target: Target) => [record(target), remove(target)] as const;
}
