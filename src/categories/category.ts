import { and, eq, exists, sql } from "drizzle-orm";
import type { Context } from "hono";
import type { Rule } from "../changes/rule.ts";
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

/** No other category has its name. */
export const hasOwnName: Rule = {
  field: "name",
  isBroken: (db, { id, value }) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(categories)
        .where(and(eq(categories.name, value("name")), sql`${categories.id} IS NOT ${id}`)),
    ),
  error: () => new ApiError("category_exists", "Another category has this name."),
};
