import { eq, exists, ne, notExists, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { storedColumns } from "../db/resource.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { patches } from "../changes/handlers.ts";
import { compilePatch } from "../changes/patch.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { categoryExists, categoryId, noSuchCategory, withName } from "./category.ts";
import { category } from "./shape.ts";
import { categories } from "./table.ts";

/** The other category that has the name in the parameter `name`. */
const others = (db: QueryBuilder, parameter: Parameter<{ id: Int64; name: unknown }>) =>
  withName(db, parameter, ne(categories.id, parameter("id")));

const patch = compilePatch(category, "category.updated", (db, parameter, fields) =>
  fields.includes("name") ? notExists(others(db, parameter)) : undefined,
);

/**
 * The category, with a column that tells whether another category has the new name. A null means that the patch has no new name.
 */
const select = compile((db, parameter: Parameter<{ id: Int64; name: string | null }>) =>
  db
    .select({ ...storedColumns(category), taken: sql<0 | 1>`${exists(others(db, parameter))}`.as("taken") })
    .from(categories)
    .where(eq(categories.id, parameter("id"))),
);

export const updateCategory = createHandlers(
  guard("pets:write"),
  ...patches("updateCategory", category.patch, {
    id: categoryId,
    patch,
    select: (target, { name = null }) => select({ ...target, name }),
    missing: noSuchCategory,
    conflict: ({ taken }) => (taken ? categoryExists() : undefined),
  }),
);
