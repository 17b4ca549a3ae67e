import { env } from "cloudflare:workers";
import { type BoundStatement, wrappedDatabase } from "./wrapped-d1.ts";

/** A statement that reached D1, with the cost that D1 reports. */
export interface ObservedStatement extends BoundStatement {
  meta?: D1Meta;
}

/** The real database, with a record of how its sessions were opened and which statements they ran. */
export function observedDatabase() {
  const starts: string[] = [];
  const statements: ObservedStatement[] = [];
  const DB = wrappedDatabase(
    async (run, list) => {
      const observed = list.map(({ sql, values }): ObservedStatement => ({ sql, values }));
      statements.push(...observed);
      const results = await run();
      for (const [index, { meta }] of results.entries()) {
        const statement = observed[index];
        if (statement !== undefined) statement.meta = meta;
      }
      return results;
    },
    (start) => starts.push(start),
  );
  return { starts, statements, DB };
}

/** The same for the scheduled job, which opens no session and runs one statement after the other. */
export function observedJobDatabase() {
  const statements: Required<ObservedStatement>[] = [];
  const prepare = (sql: string) => ({
    bind: (...values: unknown[]) => ({
      async run() {
        const result = await env.DB.prepare(sql)
          .bind(...values)
          .run();
        statements.push({ sql, values, meta: result.meta });
        return result;
      },
    }),
  });
  return { statements, DB: { prepare } as unknown as D1Database };
}
