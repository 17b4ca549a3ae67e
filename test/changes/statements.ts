// Statements of tests. The build of the tests in workerd writes their SQL as that of the Worker: vitest.config.ts.
import { eq } from "drizzle-orm";
import { category } from "../../src/categories/shape.ts";
import { changedRow, compileCompanion, compileEvents } from "../../src/changes/plan.ts";
import { compileUpdateOfSeveral } from "../../src/changes/update-several.ts";
import { compile, type Parameter } from "../../src/db/statement.ts";
import { pet } from "../../src/pets/shape.ts";
import { pets } from "../../src/pets/table.ts";

const isThis = (parameter: Parameter<{ id: number }>) => eq(pets.id, parameter("id"));
export const rename = compile("test.rename", (db, parameter: Parameter<{ id: number }>) =>
  db.update(pets).set({ name: "Rex" }).where(isThis(parameter)),
);
export const record = compileEvents("test.record", pet, "pet.updated", (_db, parameter: Parameter<{ id: number }>) =>
  changedRow(pets, parameter("id")),
);
export const companion = compileCompanion(
  "test.companion",
  pet,
  "pet.updated",
  { status: "sold" },
  (_db, parameter: Parameter<{ id: number }>) => parameter("id"),
);

export const missing = () => {
  throw new Error("A category is missing");
};
/** Of a resource with a field that may be absent. */
export const patchOfCategories = compileUpdateOfSeveral("test.patch", category, "category.updated", {
  missing,
  sets: [[], ["name"]],
});
