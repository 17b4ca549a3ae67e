import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { after, type Bounds, page } from "../db/page.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { query } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { categoryColumns, toCategory } from "./category.ts";
import { categories } from "./table.ts";

/** Other parameters are ignored. */
export const listCategoriesQuery = lazy(() => z.object(pageFields()));

const selectPage = compile((db, parameter: Parameter<Bounds>) =>
  page(db, parameter, categories, categoryColumns(), after(categories, parameter)),
);

export const listCategories = createHandlers(guard("pets:read"), query(listCategoriesQuery), async (c) => {
  const filter = c.req.valid("query");
  const rows = await openSession(c).read(selectPage(pageBounds(filter)));
  return respondWithPage(c, filter, rows, toCategory);
});
