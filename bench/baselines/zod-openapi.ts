// @hono/zod-openapi, with drizzle queries built for each request.
import { createRoute, OpenAPIHono, z } from "@hono/zod-openapi";
import { asc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { bearerAuth } from "hono/bearer-auth";
import { cors } from "hono/cors";
import { logger } from "hono/logger";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";

const pets = sqliteTable("pets", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  name: text("name").notNull(),
  categoryId: integer("category_id").notNull(),
  status: text("status", { enum: ["available", "pending", "sold"] }).notNull(),
});
const status = z.enum(["available", "pending", "sold"]);
const newPet = z.object({
  name: z.string().min(1).max(255),
  categoryId: z.number().int(),
  status: status.default("available"),
});
const animal = newPet.extend({ id: z.number().int() });
const failure = z.object({ code: z.string(), message: z.string(), status: z.number() });
const answer = <S extends z.ZodType>(schema: S) => ({ description: "OK", content: { "application/json": { schema } } });

const app = new OpenAPIHono<{ Bindings: Env }>();
app.use(logger(), requestId(), secureHeaders(), cors());
app.use("/v1/*", async (c, next) =>
  bearerAuth({
    async verifyToken(token) {
      const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
      const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
      return (await c.env.API_KEYS.get(`key:${hex}`, "json")) !== null;
    },
  })(c, next),
);
app.openapi(
  createRoute({
    method: "get",
    path: "/v1/pets",
    request: {
      query: z.object({ limit: z.coerce.number().int().min(1).max(100).default(20), status: status.optional() }),
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
