import { eq, exists, notExists, sql } from "drizzle-orm";
import { guard } from "../http/guard.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { compileDeletion } from "../changes/deletion.ts";
import { removes } from "../changes/handlers.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { preconditionFailed } from "../http/precondition.ts";
import { pets } from "../pets/table.ts";
import { categoryId, noSuchCategory } from "./category.ts";
import { category } from "./shape.ts";
import { categories } from "./table.ts";

/** The animals that name the category in the parameter `id`. */
const animals = (db: QueryBuilder, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ one: sql`1` })
    .from(pets)
    .where(eq(pets.categoryId, parameter("id")));

const deletion = compileDeletion(category, "category.deleted", (db, parameter) => notExists(animals(db, parameter)));
const selectUse = compile((db, parameter: Parameter<{ id: Int64 }>) =>
  db
    .select({ inUse: sql<0 | 1>`${exists(animals(db, parameter))}`.as("inUse") })
    .from(categories)
    .where(eq(categories.id, parameter("id"))),
);

export const deleteCategory = createHandlers(
  guard("pets:write"),
  removes("deleteCategory", categoryId, async (session, target) => {
    // Without a retry: if the first attempt succeeded, the second would respond 404 to the caller whose request deleted it.
    const [, [deleted], [category]] = await session.writeOnce([...deletion(target), selectUse(target)]);
    if (deleted !== undefined) return;
    if (category === undefined) throw noSuchCategory();
    throw category.inUse ? new ApiError("category_in_use", "An animal names this category.") : preconditionFailed();
  }),
);
