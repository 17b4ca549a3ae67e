import { type Context, Hono } from "hono";
import { authorize } from "../auth/bearer.ts";
import type { PetStatus } from "../db/schema.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { jsonBody } from "../http/body.ts";
import { fingerprintOf } from "../db/idempotency.ts";
import { openSession } from "../http/bookmark.ts";
import { deprecated } from "../http/deprecation.ts";
import { idempotencyKey } from "../http/idempotency-key.ts";
import { json, jsonText } from "../http/respond.ts";
import { validate } from "../http/validation.ts";
import { type Int64, isInt64 } from "../int64.ts";
import { encodeCursor } from "./cursor.ts";
import { createPet, createPetOnce, findPet, listPets } from "./queries.ts";
import { type Animal, listPetsQuery, newPet, toAnimal } from "./schemas.ts";

/** `getPet` goes on 5 December 2030, by a release; five years' notice. Its successor is the list, filtered by status. */
const getPetDeprecation = deprecated({
  since: new Date("2025-12-05T00:00:00Z"),
  sunset: new Date("2030-12-05T00:00:00Z"),
  successor: "/v1/pets",
  documentation: "/docs",
});

export const pets = new Hono<AppEnv>()
  // listPets
  .get("/", authorize("pets:read"), validate("query", listPetsQuery), async (c) => {
    const { limit, status, cursor } = c.req.valid("query");
    // One more than asked for tells whether there is a next page.
    const page = await listPets(openSession(c), { after: cursor, limit: limit + 1, status });
    const last = page.length > limit ? page[limit - 1] : undefined;
    if (last !== undefined) {
      c.get("headers")["Link"] = `<${nextPage(c, { limit, status, after: last.id })}>; rel="next"`;
      page.length = limit;
    }
    return json(c, page.map(toAnimal), 200);
  })
  // createPet
  .post("/", authorize("pets:write"), jsonBody, validate("json", newPet), async (c) => {
    const session = openSession(c);
    const pet = c.req.valid("json");
    const key = idempotencyKey(c);
    if (key === undefined) {
      const created = await createPet(session, pet);
      return json(c, toAnimal(created), 201, { Location: `/v1/pets/${created.id}` });
    }
    const fingerprint = await fingerprintOf("createPet", newPet, pet);
    const attempt = { apiKeyId: c.get("apiKey").id, idempotencyKey: key, fingerprint };
    const { id, response, replayed } = await createPetOnce(session, pet, attempt);
    if (replayed) c.get("headers")["Idempotency-Replayed"] = "true";
    const text = response ?? JSON.stringify(toAnimal({ id, ...pet }));
    return jsonText<Animal, 201>(c, text, 201, { Location: `/v1/pets/${id}` });
  })
  // getPet
  .get("/:petId", getPetDeprecation, authorize("pets:read"), async (c) => {
    const petId = c.req.param("petId");
    const session = openSession(c);
    const pet = isInt64(petId) ? await findPet(session, petId) : undefined;
    if (pet === undefined) throw new ApiError("not_found", "There is no animal with this id.");
    return json(c, toAnimal(pet), 200);
  });

/**
 * The address of the page after this one. Joined as text: none of its values needs encoding, and the search parameters of a URL
 * object would be a fifteenth of the CPU of a list.
 */
function nextPage(
  c: Context,
  { limit, status, after }: { limit: number; status?: PetStatus | undefined; after: Int64 },
) {
  const query = [`cursor=${encodeCursor(after)}`];
  if (status !== undefined) query.unshift(`status=${status}`);
  if (c.req.query("limit") !== undefined) query.unshift(`limit=${limit}`);
  // A Host header that is none, which only workerd without Cloudflare in front lets through, leaves a relative reference.
  const origin = URL.parse(c.req.url)?.origin ?? "";
  return `${origin}/v1/pets?${query.join("&")}`;
}
