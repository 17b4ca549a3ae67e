import { env } from "cloudflare:workers";

/** A statement that inserts so many rows, from a SELECT of the numbers `i` of `n`. They begin at 1. */
export const manyRows = (count: number, insert: string, ...values: unknown[]): D1PreparedStatement =>
  env.DB.prepare(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${count}) ${insert}`).bind(
    ...values,
  );
