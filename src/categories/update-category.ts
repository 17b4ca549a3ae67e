import { patches } from "../changes/handlers.ts";
import { compileUpdate } from "../changes/update.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { categoryId, hasOwnName, noSuchCategory } from "./category.ts";
import { category } from "./shape.ts";

const update = compileUpdate("updateCategory", category, "category.updated", {
  missing: noSuchCategory,
  sets: [[], ["name"]],
  rules: [hasOwnName],
});
const patch = { ...update, select: update.compileSelect() };

export const updateCategory = createHandlers(
  guard("pets:write"),
  ...patches("updateCategory", category.patch, categoryId, patch),
);
