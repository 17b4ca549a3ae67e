// Statements of tests. The build of the tests in workerd writes their SQL as that of the Worker: vitest.config.ts.
import { eq, sql } from "drizzle-orm";
import { category } from "../../src/categories/shape.ts";
import { changedRow, compileCompanion, compileEvents } from "../../src/changes/plan.ts";
import { compileUpdate } from "../../src/changes/update.ts";
import { compile } from "../../src/db/statement.ts";
import { pet } from "../../src/pets/shape.ts";
import { pets } from "../../src/pets/table.ts";

export const id = sql.placeholder("id");
export const rename = compile("test.rename", (db) => db.update(pets).set({ name: "Rex" }).where(eq(pets.id, id)));
export const record = compileEvents("test.record", pet, "pet.updated", () => changedRow(pets, id));
export const companion = compileCompanion("test.companion", pet, "pet.updated", { status: "sold" }, () => id);

const patch = compileUpdate("test.patch", category, "category.updated", {
  missing: () => {
    throw new Error("A category is missing");
  },
});
/** Of a resource with a field that may be absent. */
export const patchOfCategories = { ...patch, several: patch.compileSeveral() };
