import { eq, exists, sql } from "drizzle-orm";
import { compileDeletion } from "../changes/delete.ts";
import { removes } from "../changes/handlers.ts";
import { ApiError } from "../errors.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { pets } from "../pets/table.ts";
import { categoryId, noSuchCategory } from "./category.ts";
import { category } from "./shape.ts";

const deletion = compileDeletion("deleteCategory", category, "category.deleted", noSuchCategory, {
  isBroken: (db, { id }) =>
    exists(
      db
        .select({ one: sql`1` })
        .from(pets)
        .where(eq(pets.categoryId, id)),
    ),
  error: () => new ApiError("category_in_use", "An animal names this category."),
});

export const deleteCategory = createHandlers(guard("pets:write"), removes("deleteCategory", categoryId, deletion));
