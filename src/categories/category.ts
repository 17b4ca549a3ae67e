import { and, eq, type SQL, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { Parameter, QueryBuilder } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { idInPath } from "../http/path.ts";
import { categories } from "./table.ts";

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
