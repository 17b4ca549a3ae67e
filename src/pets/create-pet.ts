import { sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile, type Parameter } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import { createHandlers } from "../handlers.ts";
import { jsonBody } from "../http/body.ts";
import { int64Field, jsonObject, nameField } from "../http/validation.ts";
import { openSession } from "../http/bookmark.ts";
import { type Attempt, create, type Creation, createOnce, isFirstAttempt, remember } from "../idempotency/creation.ts";
import { idempotentAttempt } from "../idempotency/header.ts";
import { respondWithCreation } from "../idempotency/respond.ts";
import { lazy } from "../lazy.ts";
import { type Animal, type Pet, statusField, toAnimal } from "./pet.ts";
import { pets } from "./table.ts";

/** An `id` is ignored, as other fields are. New fields go to the end (`fingerprintOf`). */
export const newPet = lazy(() =>
  jsonObject({ name: nameField(), categoryId: int64Field(), status: z._default(statusField(), "available") }),
);
type NewPet = Omit<Pet, "id">;

const id = () => exact(pets.id).as("id");

const insertPet = compile((db, parameter: Parameter<NewPet>) =>
  db
    .insert(pets)
    .values({ name: parameter("name"), categoryId: parameter("categoryId"), status: parameter("status") })
    .returning({ id: id() }),
);

const insertPetOnce = compile((db, parameter: Parameter<NewPet & Attempt>) =>
  db
    .insert(pets)
    .select(
      db
        .select({
          id: sql`NULL`.as("id"),
          name: sql`${parameter("name")}`.as("name"),
          categoryId: sql`${parameter("categoryId")}`.as("categoryId"),
          status: sql`${parameter("status")}`.as("status"),
          version: sql`1`.as("version"),
        })
        .from(sql`(SELECT 1)`)
        .where(isFirstAttempt(db, parameter)),
    )
    .returning({ id: id() }),
);

/** Keeps the body of the response, as `toAnimal` and JSON.stringify write it. */
const rememberPet = remember(
  pets,
  pets.id,
  sql`json_object('id', ${pets.id}, 'name', ${pets.name}, 'categoryId', ${pets.categoryId}, 'status', ${pets.status})`,
);

export const createPet = createHandlers(guard("pets:write"), jsonBody(newPet), async (c) => {
  const pet = c.req.valid("json");
  const session = openSession(c);
  const attempt = await idempotentAttempt(c, "createPet", newPet(), pet);
  const created: Creation | undefined =
    attempt === undefined
      ? await create(session, insertPet(pet))
      : await createOnce(session, attempt, insertPetOnce({ ...pet, ...attempt }), rememberPet(attempt));
  if (created === undefined) throw new Error("INSERT ... RETURNING returned no row");
  const text = created.response ?? JSON.stringify(toAnimal({ id: created.id, ...pet }));
  return respondWithCreation<Animal>(c, created, text);
});
