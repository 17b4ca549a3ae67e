import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { after, type Bounds, inEachOrder, page } from "../db/page.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { createHandlers } from "../operation.ts";
import { pageBounds, pageFields } from "../http/paging.ts";
import { readPage } from "../http/read.ts";
import { lazy } from "../lazy.ts";
import { category } from "./shape.ts";
import { categories } from "./table.ts";

export const listCategoriesQuery = lazy(() => z.strictObject(pageFields()));

const selects = inEachOrder((sort) =>
  compile(`listCategories.${sort}`, (db, parameter: Parameter<Bounds>) =>
    page(db, parameter, category, after(categories, parameter, sort), sort),
  ),
);

export const listCategories = createHandlers(
  guard("pets:read", "pets:read"),
  ...readPage("listCategories", listCategoriesQuery, (filter) => selects[filter.sort ?? "id"](pageBounds(filter))),
);
