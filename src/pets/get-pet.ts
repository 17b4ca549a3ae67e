import { guard } from "../http/guard.ts";
import { createHandlers } from "../create-handlers.ts";
import { deprecated } from "../http/deprecation.ts";
import { toFound } from "../http/found.ts";
import { respondToRead } from "../http/read.ts";
import { noSuchPet, petId, selectPet, toAnimal } from "./pet.ts";

export const getPet = createHandlers(
  // Five years' notice. The operation does not stop at this date: a release removes it.
  deprecated({
    since: new Date("2025-12-05T00:00:00Z"),
    sunset: new Date("2030-12-05T00:00:00Z"),
    successor: "/v1/pets",
    documentation: "/docs/versioning#deprecation",
  }),
  guard("pets:read"),
  (c) =>
    respondToRead(c, async (session) => {
      const [pet] = await session.read(selectPet({ id: petId(c) }));
      if (pet === undefined) throw noSuchPet();
      return toFound(pet, toAnimal);
    }),
);
