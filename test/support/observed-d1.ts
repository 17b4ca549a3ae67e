import { env } from "cloudflare:workers";
import { type BoundStatement, wrappedDatabase } from "./wrapped-d1.ts";

/** A statement that reached D1, with the cost that D1 reports. */
export interface ObservedStatement extends BoundStatement {
  meta?: D1Meta;
}

/** The fault of one round trip: none, or an error before or after the statements took effect. */
export type Fault = undefined | { when: "before" | "after"; message: string };

/**
 * The real database, with one of these faults on each round trip, in order. Afterwards it works. `starts` has how its sessions were opened,
 * `statements` what they ran, and `roundTrips` counts all.
 */
export function observedDatabase(...faults: Fault[]) {
  let count = 0;
  const starts: string[] = [];
  const statements: ObservedStatement[] = [];
  const DB = wrappedDatabase(
    async (run, list) => {
      const fault = faults[count++];
      const observed = list.map(({ sql, values }): ObservedStatement => ({ sql, values }));
      statements.push(...observed);
      if (fault?.when === "before") throw new Error(fault.message);
      const results = await run();
      if (fault?.when === "after") throw new Error(fault.message);
      for (const [index, { meta }] of results.entries()) Object.assign(observed[index] ?? {}, { meta });
      return results;
    },
    (start) => starts.push(start),
  );
  return { starts, statements, DB, roundTrips: () => count };
}

/** The same for the scheduled job, which opens no session. Each statement runs after `before`. */
export function observedJobDatabase(before: (sql: string) => unknown = () => {}) {
  const statements: Required<ObservedStatement>[] = [];
  const prepare = (sql: string) => ({
    bind(...values: unknown[]) {
      const statement = env.DB.prepare(sql).bind(...values);
      return { sql, values, statement, run: async () => (await batch([{ sql, values, statement }]))[0] };
    },
  });
  const batch = async (list: (BoundStatement & { statement: D1PreparedStatement })[]) => {
    for (const { sql } of list) await before(sql);
    const results = await env.DB.batch(list.map(({ statement }) => statement));
    statements.push(...list.map(({ sql, values }, index) => ({ sql, values, meta: results[index]!.meta })));
    return results;
  };
  return { statements, DB: { prepare, batch } as unknown as D1Database };
}

/** That of a plan which allows a job so many statements. */
export function allowing(statements: number): D1Database {
  const refuse = () => {
    if (statements-- <= 0) throw new Error("Too many API requests by single Worker invocation.");
  };
  return observedJobDatabase(refuse).DB;
}
