import { createRoutes } from "../operation.ts";
import { createCategory } from "./create-category.ts";
import { deleteCategory } from "./delete-category.ts";
import { getCategory } from "./get-category.ts";
import { listCategories } from "./list-categories.ts";
import { updateCategory } from "./update-category.ts";

export const categories = createRoutes()
  .get("/", ...listCategories)
  .post("/", ...createCategory)
  .get("/:categoryId", ...getCategory)
  .patch("/:categoryId", ...updateCategory)
  .delete("/:categoryId", ...deleteCategory);
