import { eq, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import { guard } from "../auth/guard.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";
import { deprecated } from "../http/deprecation.ts";
import { json } from "../http/respond.ts";
import { openSession } from "../http/session.ts";
import { type Pet, petColumns, toAnimal } from "./pet.ts";
import { pets } from "./table.ts";

const selectPet = compile<{ id: Int64 }, Pet>((db) =>
  db
    .select(petColumns())
    .from(pets)
    .where(eq(pets.id, sql.placeholder("id"))),
);

export const getPet = createFactory<AppEnv, "/:petId">().createHandlers(
  // Five years' notice. Nothing switches off by the clock: the removal is a release.
  deprecated({
    since: new Date("2025-12-05T00:00:00Z"),
    sunset: new Date("2030-12-05T00:00:00Z"),
    successor: "/v1/pets",
    documentation: "/docs",
  }),
  guard("pets:read"),
  async (c) => {
    const petId = c.req.param("petId");
    const session = openSession(c);
    const [pet] = isInt64(petId) ? await session.read(selectPet({ id: petId })) : [];
    if (pet === undefined) throw new ApiError("not_found", "There is no animal with this id.");
    return json(c, toAnimal(pet), 200);
  },
);
