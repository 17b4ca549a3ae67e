// @hono/zod-openapi, with drizzle queries built for each request.
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { asc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { animal, type App, describe, listQuery, newPet, pets, refuse, useMiddleware } from "./shared.ts";

const failure = z.object({ code: z.string(), message: z.string(), status: z.number() });
const answer = <S extends z.ZodType>(schema: S) => ({
  description: "OK",
  content: { "application/json": { schema } },
});

const app = new OpenAPIHono<App>({
  defaultHook(result) {
    if (!result.success) refuse(400, describe(result.error));
  },
});
useMiddleware(app);
app.openapi(
  createRoute({
    method: "get",
    path: "/v1/pets",
    request: {
      query: listQuery,
    },
    responses: { 200: answer(z.array(animal)) },
  }),
  async (c) => {
    const { limit, status } = c.req.valid("query");
    const where = status === undefined ? undefined : eq(pets.status, status);
    return c.json(await drizzle(c.env.DB).select().from(pets).where(where).orderBy(asc(pets.id)).limit(limit), 200);
  },
);
app.openapi(
  createRoute({
    method: "post",
    path: "/v1/pets",
    request: { body: { content: { "application/json": { schema: newPet } } } },
    responses: { 201: answer(animal) },
  }),
  async (c) => {
    const [pet] = await drizzle(c.env.DB).insert(pets).values(c.req.valid("json")).returning();
    return c.json(pet as z.infer<typeof animal>, 201);
  },
);
app.openapi(
  createRoute({
    method: "get",
    path: "/v1/pets/{petId}",
    request: { params: z.object({ petId: z.coerce.number().int() }) },
    responses: { 200: answer(animal), 404: answer(failure) },
  }),
  async (c) => {
    const [pet] = await drizzle(c.env.DB)
      .select()
      .from(pets)
      .where(eq(pets.id, c.req.valid("param").petId));
    return pet ? c.json(pet, 200) : c.json({ code: "not_found", message: "Not found", status: 404 }, 404);
  },
);

export default app;
