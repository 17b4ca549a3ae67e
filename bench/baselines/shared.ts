// What the three stacks with libraries have in common: the table, the schemas, and the usual middleware with a bearer key.
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { cors } from "hono/cors";
import { logger } from "hono/logger";
import { requestId } from "hono/request-id";
import { secureHeaders } from "hono/secure-headers";
import { z } from "zod";

export const pets = sqliteTable("pets", {
  id: integer("id").primaryKey({ autoIncrement: true }),
  name: text("name").notNull(),
  categoryId: integer("category_id").notNull(),
  status: text("status", { enum: ["available", "pending", "sold"] }).notNull(),
});

export const status = z.enum(["available", "pending", "sold"]);
export const listQuery = z.object({
  limit: z.coerce.number().int().min(1).max(100).default(20),
  status: status.optional(),
});
export const newPet = z.object({
  name: z.string().min(1).max(255),
  categoryId: z.number().int(),
  status: status.default("available"),
});
export const animal = newPet.extend({ id: z.number().int() });

export function useMiddleware(app: Hono<{ Bindings: Env }>): void {
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
}
