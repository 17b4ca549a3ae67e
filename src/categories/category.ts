import { and, eq, exists, sql } from "drizzle-orm";
import type { Rule } from "../changes/rule.ts";
import { ApiError } from "../errors.ts";
import { idIn } from "../http/path.ts";
import { categories } from "./table.ts";

export const [categoryId, noSuchCategory] = idIn("categoryId", "category");

/** No other category has its name. */
export const hasOwnName: Rule<"name"> = {
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
