import { notExists } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import type { Parameter } from "../db/statement.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody } from "../http/body.ts";
import { jsonObject, nameField } from "../http/validation.ts";
import { compileCreation, create } from "../changes/creation.ts";
import { idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { respondWithCreation } from "../changes/respond.ts";
import { lazy } from "../lazy.ts";
import {
  type Category,
  categoryExists,
  categoryJson,
  type CategoryRow,
  descriptionField,
  withName,
} from "./category.ts";
import { categories } from "./table.ts";

/** Add new fields at the end (`valuesOf`). */
export const newCategory = lazy(() => jsonObject({ name: nameField(), description: z.optional(descriptionField()) }));
type NewCategory = Omit<CategoryRow, "id" | "version">;

const creation = compileCreation(
  categories,
  "category.created",
  categoryJson,
  (db, parameter: Parameter<NewCategory>) => ({
    values: { name: parameter("name"), description: parameter("description") },
    where: notExists(withName(db, parameter)),
  }),
);

export const createCategory = createHandlers(guard("pets:write"), jsonBody(newCategory), async (c) => {
  const category = c.req.valid("json");
  const { name, description = null } = category;
  const attempt = await idempotentAttempt(c, "createCategory", ...valuesOf(newCategory(), category));
  const session = openSession(c);
  const created = await create(session, creation, { name, description }, attempt);
  if (created === undefined) throw categoryExists();
  return respondWithCreation<Category>(c, created);
});
