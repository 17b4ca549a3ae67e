import { asc, gt, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { openSession } from "../http/bookmark.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { query } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { categoryColumns, type CategoryRow, toCategory } from "./category.ts";
import { categories } from "./table.ts";

/** Other parameters are ignored. */
export const listCategoriesQuery = lazy(() => z.object(pageFields()));

const selectPage = compile<{ after: Int64; limit: number }, CategoryRow>((db) =>
  db
    .select(categoryColumns())
    .from(categories)
    .where(gt(categories.id, sql.placeholder("after")))
    .orderBy(asc(categories.id))
    .limit(sql.placeholder("limit")),
);

export const listCategories = createFactory<AppEnv>().createHandlers(
  guard("pets:read"),
  query(listCategoriesQuery),
  async (c) => {
    const filter = c.req.valid("query");
    const rows = await openSession(c).read(selectPage(pageBounds(filter)));
    return respondWithPage(c, filter, rows, toCategory);
  },
);
