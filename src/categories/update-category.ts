import { eq, exists, ne, notExists, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { applyChange, compilePatch, isInEffect } from "../changes/patch.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { jsonBody, MERGE_PATCH } from "../http/body.ts";
import { ifMatch, preconditionFailed, setEntityTag } from "../http/precondition.ts";
import { json } from "../http/respond.ts";
import { jsonObject, nameField } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import {
  categoryColumns,
  categoryExists,
  categoryId,
  descriptionField,
  noSuchCategory,
  toCategory,
  withName,
} from "./category.ts";
import { categories } from "./table.ts";

/** Other fields are ignored. A description that is null is removed. */
export const categoryPatch = lazy(() =>
  jsonObject({ name: z.optional(nameField()), description: z.optional(z.nullable(descriptionField())) }),
);

/** The other category that has the name in the parameter `name`. */
const others = (db: QueryBuilder, parameter: Parameter<{ id: Int64; name: unknown }>) =>
  withName(db, parameter, ne(categories.id, parameter("id")));

const patchCategory = compilePatch(categories, categoryPatch, (db, parameter, fields) =>
  fields.includes("name") ? notExists(others(db, parameter)) : undefined,
);

/** With whether the new name is another category's. A null stands for no new name. */
const selectCategory = compile((db, parameter: Parameter<{ id: Int64; name: string | null }>) =>
  db
    .select({
      ...categoryColumns(),
      version: categories.version,
      taken: sql<0 | 1>`${exists(others(db, parameter))}`.as("taken"),
    })
    .from(categories)
    .where(eq(categories.id, parameter("id"))),
);

export const updateCategory = createHandlers(guard("pets:write"), jsonBody(categoryPatch, MERGE_PATCH), async (c) => {
  const patch = c.req.valid("json");
  const versions = ifMatch(c);
  const session = openSession(c);
  const id = categoryId(c);
  const select = selectCategory({ id, name: patch.name ?? null });
  // Without a version, a second run could undo what somebody else changed after the first.
  const category = await applyChange(session, patchCategory(id, patch, versions), select, versions !== undefined);
  if (category === undefined) throw noSuchCategory();
  if (category.taken) throw categoryExists();
  if (!isInEffect(category, patch, versions)) throw preconditionFailed();
  setEntityTag(c, category.version);
  return json(c, toCategory(category), 200);
});
