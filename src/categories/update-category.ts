import { eq, exists, ne, notExists, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { idempotentAttempt, valuesOf } from "../changes/attempt.ts";
import { applyPatch, compilePatch, versionsParameters } from "../changes/patch.ts";
import { respondWithPatch } from "../changes/respond.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../create-handlers.ts";
import { openSession } from "../http/open-session.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { preconditionsOf } from "../http/precondition.ts";
import { jsonObject, nameField } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import {
  categoryColumns,
  categoryExists,
  categoryId,
  categoryJson,
  descriptionField,
  noSuchCategory,
  toCategory,
  withName,
} from "./category.ts";
import { categories } from "./table.ts";

/** Other fields are ignored. A null removes the description. */
export const categoryPatch = lazy(() =>
  jsonObject({ name: z.optional(nameField()), description: z.optional(z.nullable(descriptionField())) }),
);

/** The other category that has the name in the parameter `name`. */
const others = (db: QueryBuilder, parameter: Parameter<{ id: Int64; name: unknown }>) =>
  withName(db, parameter, ne(categories.id, parameter("id")));

const patchCategory = compilePatch(
  categories,
  "category.updated",
  categoryPatch,
  categoryJson,
  (db, parameter, fields) => (fields.includes("name") ? notExists(others(db, parameter)) : undefined),
);

/**
 * The category, with a column that tells whether another category has the new name. A null means that the patch has no new name.
 */
const selectCategoryToPatch = compile((db, parameter: Parameter<{ id: Int64; name: string | null }>) =>
  db
    .select({
      ...categoryColumns(),
      taken: sql<0 | 1>`${exists(others(db, parameter))}`.as("taken"),
    })
    .from(categories)
    .where(eq(categories.id, parameter("id"))),
);

export const updateCategory = createHandlers(guard("pets:write"), jsonBody(categoryPatch, MERGE_PATCH), async (c) => {
  const patch = c.req.valid("json");
  const preconditions = preconditionsOf(c);
  const values = valuesOf(categoryPatch(), patch);
  const attempt = await idempotentAttempt(c, "updateCategory", c.req.param("categoryId"), preconditions, ...values);
  const session = openSession(c);
  const target = { id: categoryId(c), ...versionsParameters(preconditions) };
  const select = selectCategoryToPatch({ ...target, name: patch.name ?? null });
  const outcome = await applyPatch(session, patchCategory(target, patch, attempt), select, attempt);
  return respondWithPatch(c, outcome, preconditions, toCategory, noSuchCategory, ({ taken }) =>
    taken ? categoryExists() : undefined,
  );
});
