// The usual way: Hono with its middleware, `import { z }`, and drizzle queries built for each request.
import { zValidator } from "@hono/zod-validator";
import { asc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { Hono } from "hono";
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
const query = z.object({ limit: z.coerce.number().int().min(1).max(100).default(20), status: status.optional() });
const newPet = z.object({
  name: z.string().min(1).max(255),
  categoryId: z.number().int(),
  status: status.default("available"),
});

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
app.get("/v1/pets", zValidator("query", query), async (c) => {
  const { limit, status } = c.req.valid("query");
  const db = drizzle(c.env.DB);
  const where = status === undefined ? undefined : eq(pets.status, status);
  return c.json(await db.select().from(pets).where(where).orderBy(asc(pets.id)).limit(limit));
});
app.post("/v1/pets", zValidator("json", newPet), async (c) => {
  const [pet] = await drizzle(c.env.DB).insert(pets).values(c.req.valid("json")).returning();
  return c.json(pet, 201);
});
app.get("/v1/pets/:petId", async (c) => {
  const [pet] = await drizzle(c.env.DB)
    .select()
    .from(pets)
    .where(eq(pets.id, Number(c.req.param("petId"))));
  return pet ? c.json(pet) : c.json({ code: "not_found", message: "Not found", status: 404 }, 404);
});

export default app;
