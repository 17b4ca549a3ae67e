import type { Databases } from "./databases.ts";
import { type Route, routes } from "./route.ts";

/** The query of `d1 info` and `d1 insights`. */
interface Query {
  variables: { filter: { AND: { databaseId: string }[] } };
}

/** The figures of D1, equal for every database. */
export function analyticsRoutes(databases: Databases): Route[] {
  return routes({
    "POST /graphql": async ({ body }) => {
      const { variables } = (await body.json()) as Query;
      for (const { databaseId } of variables.filter.AND) databases.find(databaseId);
      const sum = { readQueries: 1, writeQueries: 1, queryDurationMs: 5, rowsRead: 1, rowsWritten: 1, rowsReturned: 1 };
      const account = {
        d1AnalyticsAdaptiveGroups: [{ sum }],
        d1QueriesAdaptiveGroups: [{ sum, avg: sum, count: 1, dimensions: { query: "SELECT id FROM pets" } }],
      };
      // Its form differs from the other responses.
      return Response.json({ data: { viewer: { accounts: [account] } }, errors: null });
    },
  });
}
