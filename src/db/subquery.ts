import type { Statement } from "./statement.ts";

/** The same statement, with each value that is a statement in the place of its `?`. Its one column has no affinity. */
export function withSubqueries<Row>(statement: Statement<Row>): Statement<Row> {
  const values: unknown[] = [];
  const [first = "", ...parts] = statement.sql.split("?");
  const sql = parts.reduce((before, part, place) => {
    const value = statement.values[place];
    const isStatement = typeof value === "object" && value !== null;
    values.push(...(isStatement ? (value as Statement<unknown>).values : [value]));
    return `${before}${isStatement ? `(${(value as Statement<unknown>).sql})` : "?"}${part}`;
  }, first);
  return { ...statement, sql, values };
}
