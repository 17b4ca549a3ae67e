import { and, eq, gt, sql } from "drizzle-orm";
import { derive } from "../db/resource.ts";
import { runAlone } from "../db/run-alone.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import { pet } from "./shape.ts";
import { isUnfilled, pets } from "./table.ts";

/** Maximum number of rows of one statement. */
export const FOLDED_AT_ONCE = 1_000;
/** Maximum number of statements that write, in one run. Each follows one that reads. */
export const MAX_FOLDS = 200;
/** Characters of the rows in one parameter, of three bytes each at most. D1 documents 2,000,000 bytes (docs/standards.md). */
const MAX_LENGTH = 600_000;

const selectUnfilled = compile("foldNames.select", (db, parameter: Parameter<{ after: Int64 }>) =>
  db
    .select({ id: sql<Int64>`${exact(pets.id)}`.as("id"), name: sql<string>`${pets.name}`.as("name") })
    .from(sql`pets INDEXED BY pets_unfolded_idx`)
    .where(and(isUnfilled, gt(pets.id, parameter("after"))))
    .orderBy(sql`${pets.id}`)
    .limit(FOLDED_AT_ONCE),
);

/** A name may have changed since it was read. No version changes, and there is no event: clients see neither column. */
const fold = compile("foldNames.fold", (db, parameter: Parameter<{ rows: string }>) => {
  const field = (name: string) => sql`row.value ->> ${sql.raw(`'${name}'`)}`;
  return db
    .update(pets)
    .set({ folded: field("folded"), foldedOf: field("foldedOf") })
    .from(sql`json_each(${parameter("rows")}) AS row`)
    .where(and(eq(pets.id, sql`CAST(${field("id")} AS INTEGER)`), eq(pets.name, field("name"))));
});

/**
 * Writes what searches compare for the rows of earlier versions, restores and other programs, or for as many as one run may.
 *
 * @param folds maximum number of statements that write.
 * @returns how many rows it wrote, and whether none is left. If not, the next run continues.
 * @throws Error of D1, when it fails before anything was written.
 */
export async function foldNames(
  database: D1Database,
  folds = MAX_FOLDS,
): Promise<{ count: number; finished: boolean }> {
  let [count, after] = [0, "0" as Int64];
  for (let statements = 0; statements < folds; statements++) {
    try {
      const { results } = await runAlone(database, selectUnfilled({ after }));
      let length = 0;
      const rows = results
        .map((row) => JSON.stringify(derive(pet, row)))
        .filter((row) => (length += row.length) <= MAX_LENGTH);
      const last = results[rows.length - 1];
      if (last === undefined) return { count, finished: true };
      const { meta } = await runAlone(database, fold({ rows: `[${rows.join()}]` }));
      count += meta.changes;
      after = last.id;
    } catch (error) {
      // Perhaps at the limit of the plan (D1 documentation, Limits).
      if (count === 0) throw error;
      break;
    }
  }
  return { count, finished: false };
}
