import { env } from "cloudflare:workers";

/** A statement that reached D1, and what D1 says that it cost. */
export interface ObservedStatement {
  sql: string;
  values: unknown[];
  meta?: D1Meta;
}

/** The real database, which notes how its sessions were opened and which statements they ran. */
export function observedDatabase() {
  const starts: string[] = [];
  const statements: ObservedStatement[] = [];
  const DB = {
    withSession(start: string) {
      starts.push(start);
      const session = env.DB.withSession(start);
      return {
        getBookmark: () => session.getBookmark(),
        prepare: (sql: string) => ({
          bind(...values: unknown[]) {
            const observed: ObservedStatement = { sql, values };
            statements.push(observed);
            const statement = session.prepare(sql).bind(...values);
            return {
              statement,
              observed,
              async all() {
                const result = await statement.all();
                observed.meta = result.meta;
                return result;
              },
            };
          },
        }),
        async batch(list: { statement: D1PreparedStatement; observed: ObservedStatement }[]) {
          const results = await session.batch(list.map(({ statement }) => statement));
          for (const [index, { meta }] of results.entries()) {
            const observed = list[index]?.observed;
            if (observed !== undefined) observed.meta = meta;
          }
          return results;
        },
      };
    },
  };
  return { starts, statements, DB: DB as unknown as D1Database };
}
