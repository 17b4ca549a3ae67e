import type { Scope } from "../../src/auth/key-record.ts";
import type { Call } from "./client.ts";

/** Every operation behind a key, with a request that succeeds as far as the key is concerned. */
export interface Operation extends Pick<Call, "method" | "body"> {
  name: string;
  method: string;
  path: string;
  /** The pattern that the router knows it by. */
  route: string;
  scope: Scope;
  /** Its answer to a good key. */
  status: number;
}

export const OPERATIONS: Operation[] = [
  { name: "listPets", method: "GET", path: "/v1/pets", route: "/v1/pets", scope: "pets:read", status: 200 },
  {
    name: "createPet",
    method: "POST",
    path: "/v1/pets",
    route: "/v1/pets",
    scope: "pets:write",
    body: { name: "Rex", categoryId: 1 },
    status: 201,
  },
  {
    name: "getPet",
    method: "GET",
    path: "/v1/pets/4611686018427387904",
    route: "/v1/pets/:petId",
    scope: "pets:read",
    status: 404,
  },
];
