import type { Statement } from "./statement.ts";

/** Runs a statement without a session. Its error has its name, for the log. */
export async function runAlone<Row>(
  database: D1Database,
  { name, sql, values }: Statement<Row>,
): Promise<D1Result<Row>> {
  try {
    return await database
      .prepare(sql)
      .bind(...values)
      .run<Row>();
  } catch (cause) {
    throw cause instanceof Error ? Object.assign(cause, { statements: name }) : cause;
  }
}
