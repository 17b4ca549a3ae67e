// chanfana, the OpenAPI router for Workers, on Hono.
import { fromHono, OpenAPIRoute } from "chanfana";
import { asc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { type Context, Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { cors } from "hono/cors";
import { logger } from "hono/logger";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { z } from "zod";

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
const answer = (schema: z.ZodType) => ({ description: "OK", content: { "application/json": { schema } } });
type C = Context<{ Bindings: Env }>;

class ListPets extends OpenAPIRoute {
  override schema = {
    request: {
      query: z.object({ limit: z.coerce.number().int().min(1).max(100).default(20), status: status.optional() }),
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

const app = new Hono<{ Bindings: Env }>();
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
const router = fromHono(app);
router.get("/v1/pets", ListPets);
router.post("/v1/pets", CreatePet);
router.get("/v1/pets/:petId", GetPet);

export default app;
