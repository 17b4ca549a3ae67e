import { and, notExists, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile, type Parameter, type QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/bookmark.ts";
import { jsonBody } from "../http/body.ts";
import { jsonObject, nameField } from "../http/validation.ts";
import { type Attempt, create, type Creation, createOnce, isFirstAttempt, remember } from "../idempotency/creation.ts";
import { idempotentAttempt } from "../idempotency/header.ts";
import { respondWithCreation } from "../idempotency/respond.ts";
import { lazy } from "../lazy.ts";
import { type Category, categoryExists, type CategoryRow, descriptionField, toCategory, withName } from "./category.ts";
import { categories } from "./table.ts";

/** New fields go to the end (`fingerprintOf`). */
export const newCategory = lazy(() => jsonObject({ name: nameField(), description: z.optional(descriptionField()) }));
type NewCategory = Omit<CategoryRow, "id">;

/** Inserts nothing when a category has the name: decided in the same statement, so that no race comes between. */
const insert = (db: QueryBuilder, parameter: Parameter<NewCategory>, more?: SQL) =>
  db
    .insert(categories)
    .select(
      db
        .select({
          id: sql`NULL`.as("id"),
          name: sql`${parameter("name")}`.as("name"),
          description: sql`${parameter("description")}`.as("description"),
          version: sql`1`.as("version"),
        })
        .from(sql`(SELECT 1)`)
        .where(and(notExists(withName(db, parameter)), more)),
    )
    .returning({ id: exact(categories.id).as("id") });

const insertCategory = compile((db, parameter: Parameter<NewCategory>) => insert(db, parameter));
const insertCategoryOnce = compile((db, parameter: Parameter<NewCategory & Attempt>) =>
  insert(db, parameter, isFirstAttempt(db, parameter)),
);

/** Keeps the body of the response, as `toCategory` and JSON.stringify write it: without a description that is null. */
const rememberCategory = remember(
  categories,
  categories.id,
  sql`json_patch(json_object('id', ${categories.id}, 'name', ${categories.name}), json_object('description', ${categories.description}))`,
);

export const createCategory = createHandlers(guard("pets:write"), jsonBody(newCategory), async (c) => {
  const { name, description = null } = c.req.valid("json");
  const category = { name, description };
  const session = openSession(c);
  const attempt = await idempotentAttempt(c, "createCategory", newCategory(), c.req.valid("json"));
  const created: Creation | undefined =
    attempt === undefined
      ? await create(session, insertCategory(category))
      : await createOnce(session, attempt, insertCategoryOnce({ ...category, ...attempt }), rememberCategory(attempt));
  if (created === undefined) throw categoryExists();
  const text = created.response ?? JSON.stringify(toCategory({ id: created.id, ...category }));
  return respondWithCreation<Category>(c, created, text);
});
