import { compileSelect } from "../db/resource.ts";
import { guard } from "../http/guard.ts";
import { createHandlers } from "../operation.ts";
import { deprecated } from "../http/deprecation.ts";
import { readOne } from "../http/read.ts";
import { noSuchPet, petId } from "./pet.ts";
import { pet } from "./shape.ts";

const select = compileSelect("getPet", pet);

export const getPet = createHandlers(
  // Five years' notice. The operation does not stop at this date: a release removes it.
  deprecated({
    since: new Date("2025-12-05T00:00:00Z"),
    sunset: new Date("2030-12-05T00:00:00Z"),
    successor: "/v1/pets",
    documentation: "/docs/versioning#deprecation",
  }),
  guard("pets:read", "pets:read"),
  readOne("getPet", (c) => select({ id: petId(c) }), noSuchPet),
);
