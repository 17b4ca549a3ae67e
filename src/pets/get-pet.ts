import { eq, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import { guard } from "../auth/guard.ts";
import { compile } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { deprecated } from "../http/deprecation.ts";
import { json } from "../http/respond.ts";
import { openSession } from "../http/bookmark.ts";
import { noSuchPet, type Pet, petColumns, petId, toAnimal } from "./pet.ts";
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
    const session = openSession(c);
    const [pet] = await session.read(selectPet({ id: petId(c) }));
    if (pet === undefined) throw noSuchPet();
    return json(c, toAnimal(pet), 200);
  },
);
