import { and, eq, type SQL, sql } from "drizzle-orm";
import type { SelectResultFields } from "drizzle-orm/query-builders/select.types";
import type { Context } from "hono";
import { type Complete, jsonObjectOf } from "../db/json-object.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import { jsonInteger } from "../exact/json.ts";
import { idInPath } from "../http/path.ts";
import { textField } from "../http/validation.ts";
import { categories, MAX_DESCRIPTION_CHARACTERS } from "./table.ts";

export const descriptionField = () => textField(MAX_DESCRIPTION_CHARACTERS);

/**
 * The id in the path.
 *
 * @throws ApiError `not_found`
 */
export function categoryId(c: Context<AppEnv, "/:categoryId">): Int64 {
  return idInPath(c.req.param("categoryId"), noSuchCategory);
}

export function noSuchCategory(): ApiError {
  return new ApiError("not_found", "There is no category with this id.");
}

export function categoryExists(): ApiError {
  return new ApiError("category_exists", "Another category has this name.");
}

/** The category that has the name in the parameter `name`. */
export function withName(db: QueryBuilder, parameter: Parameter<{ name: unknown }>, more?: SQL) {
  return db
    .select({ one: sql`1` })
    .from(categories)
    .where(and(eq(categories.name, parameter("name")), more));
}

/** The columns of a category, exact. */
export const categoryColumns = () => ({
  id: exact(categories.id).as("id"),
  name: categories.name,
  description: categories.description,
  version: categories.version,
});

/** A category as the database holds it. */
export type CategoryRow = SelectResultFields<ReturnType<typeof categoryColumns>>;

export const selectCategory = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select(categoryColumns())
    .from(categories)
    .where(eq(categories.id, parameter("id"))),
);

/** A category as clients see it. */
export interface Category {
  id: number;
  name: string;
  description?: string;
}

/** The body of a category in SQL. It equals JSON.stringify of `toCategory`. */
export const categoryJson = () =>
  jsonObjectOf<Category>({ id: categories.id, name: categories.name }, { description: categories.description });

/** The only place that turns a row into a response. A new column appears in it only when it is added here. */
export function toCategory({ id, name, description }: Omit<CategoryRow, "version">): Complete<Category> {
  return { id: jsonInteger(id), name, description: description ?? undefined };
}
