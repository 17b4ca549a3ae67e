import { sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { exact } from "../exact/column.ts";
import { jsonBody } from "../http/body.ts";
import { json, jsonText } from "../http/respond.ts";
import { openSession } from "../http/bookmark.ts";
import { type Attempt, createOnce, isFirstAttempt, remember } from "../idempotency/creation.ts";
import { idempotentAttempt } from "../idempotency/header.ts";
import { lazy } from "../lazy.ts";
import { type Animal, categoryIdField, nameField, type Pet, statusField, toAnimal } from "./pet.ts";
import { pets } from "./table.ts";

/** Other fields, `id` among them, are ignored. New ones go to the end (`fingerprintOf`). */
export const newPet = lazy(() =>
  z.object(
    { name: nameField(), categoryId: categoryIdField(), status: z._default(statusField(), "available") },
    { error: "The request body has to be a JSON object" },
  ),
);
type NewPet = Omit<Pet, "id">;

const parameter = sql.placeholder;
const id = () => exact(pets.id).as("id");

const insertPet = compile<NewPet & Record<string, unknown>, Pick<Pet, "id">>((db) =>
  db
    .insert(pets)
    .values({ name: parameter("name"), categoryId: parameter("categoryId"), status: parameter("status") })
    .returning({ id: id() }),
);

const insertPetOnce = compile<NewPet & Attempt, Pick<Pet, "id">>((db) =>
  db
    .insert(pets)
    .select(
      db
        .select({
          id: sql`NULL`.as("id"),
          name: sql`${parameter("name")}`.as("name"),
          categoryId: sql`${parameter("categoryId")}`.as("categoryId"),
          status: sql`${parameter("status")}`.as("status"),
        })
        .from(sql`(SELECT 1)`)
        .where(isFirstAttempt(db)),
    )
    .returning({ id: id() }),
);

/** Keeps the body of the response, as `toAnimal` and JSON.stringify write it. */
const rememberPet = remember(
  pets,
  pets.id,
  sql`json_object('id', ${pets.id}, 'name', ${pets.name}, 'categoryId', ${pets.categoryId}, 'status', ${pets.status})`,
);

export const createPet = createFactory<AppEnv>().createHandlers(guard("pets:write"), jsonBody(newPet), async (c) => {
  const pet = c.req.valid("json");
  const session = openSession(c);
  const attempt = await idempotentAttempt(c, "createPet", newPet(), pet);
  if (attempt === undefined) {
    const [row] = await session.write(insertPet(pet));
    if (row === undefined) throw new Error("INSERT ... RETURNING returned no row");
    c.get("headers")["Location"] = `/v1/pets/${row.id}`;
    return json(c, toAnimal({ id: row.id, ...pet }), 201);
  }
  const created = await createOnce(session, attempt, insertPetOnce({ ...pet, ...attempt }), rememberPet(attempt));
  if (created.replayed) c.get("headers")["Idempotency-Replayed"] = "true";
  c.get("headers")["Location"] = `/v1/pets/${created.id}`;
  return jsonText<Animal, 201>(c, created.response ?? JSON.stringify(toAnimal({ id: created.id, ...pet })), 201);
});
