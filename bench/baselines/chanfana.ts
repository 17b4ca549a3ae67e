// chanfana, the OpenAPI router for Workers, on Hono.
import { fromHono, OpenAPIRoute } from "chanfana";
import { asc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { type Context, Hono } from "hono";
import { z } from "zod";
import { animal, type App, listQuery, newPet, pets, useMiddleware } from "./shared.ts";

const answer = (schema: z.ZodType) => ({ description: "OK", content: { "application/json": { schema } } });
type C = Context<App>;

class ListPets extends OpenAPIRoute {
  override schema = {
    request: {
      query: listQuery,
    },
    responses: { 200: answer(z.array(animal)) },
  };
  override async handle(c: C) {
    const { query } = await this.getValidatedData<typeof this.schema>();
    const where = query.status === undefined ? undefined : eq(pets.status, query.status);
    return c.json(await drizzle(c.env.DB).select().from(pets).where(where).orderBy(asc(pets.id)).limit(query.limit));
  }
}
class CreatePet extends OpenAPIRoute {
  override schema = {
    request: { body: { content: { "application/json": { schema: newPet } } } },
    responses: { 201: answer(animal) },
  };
  override async handle(c: C) {
    const { body } = await this.getValidatedData<typeof this.schema>();
    const [pet] = await drizzle(c.env.DB).insert(pets).values(body).returning();
    return c.json(pet, 201);
  }
}
class GetPet extends OpenAPIRoute {
  override schema = {
    request: { params: z.object({ petId: z.coerce.number().int() }) },
    responses: { 200: answer(animal) },
  };
  override async handle(c: C) {
    const { params } = await this.getValidatedData<typeof this.schema>();
    const [pet] = await drizzle(c.env.DB).select().from(pets).where(eq(pets.id, params.petId));
    return pet ? c.json(pet) : c.json({ code: "not_found", message: "Not found", status: 404 }, 404);
  }
}

const app = new Hono<App>();
useMiddleware(app);
const router = fromHono(app);
router.get("/v1/pets", ListPets);
router.post("/v1/pets", CreatePet);
router.get("/v1/pets/:petId", GetPet);

export default app;
