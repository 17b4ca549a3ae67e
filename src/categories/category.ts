import { isUnique } from "../changes/rule.ts";
import { ApiError } from "../errors.ts";
import { idIn } from "../http/path.ts";
import { categories } from "./table.ts";

export const [categoryId, noSuchCategory] = idIn("categoryId", "category");

export const hasOwnName = isUnique(
  categories,
  "name",
  () => new ApiError("category_exists", "Another category has this name."),
);
