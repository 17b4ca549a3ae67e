import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { after, type Bounds, inEachOrder, page } from "../db/page.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { createHandlers } from "../create-handlers.ts";
import { pageBounds, pageFields, toPage } from "../http/paging.ts";
import { respondToRead } from "../http/read.ts";
import { query } from "../http/query.ts";
import { lazy } from "../lazy.ts";
import { categoryColumns, toCategory } from "./category.ts";
import { categories } from "./table.ts";

export const listCategoriesQuery = lazy(() => z.object(pageFields()));

const selectPage = inEachOrder((sort) =>
  compile((db, parameter: Parameter<Bounds>) =>
    page(db, parameter, categories, categoryColumns(), after(categories, parameter, sort), sort),
  ),
);

export const listCategories = createHandlers(guard("pets:read"), query(listCategoriesQuery), (c) => {
  const filter = c.req.valid("query");
  return respondToRead(
    c,
    async (session) => {
      const select = selectPage[filter.sort ?? "id"];
      return toPage(filter, await session.read(select(pageBounds(filter))), toCategory);
    },
    filter,
  );
});
