// The three operations as the tutorials of Hono, zod-validator and drizzle write them: queries are built for each request.
import { zValidator } from "@hono/zod-validator";
import { asc, eq } from "drizzle-orm";
import { drizzle } from "drizzle-orm/d1";
import type { Hono } from "hono";
import type { z } from "zod";
import { type App, listQuery, newPet, pets } from "./shared.ts";

/** @param onResult may replace the error of zod-validator for a query or a body. */
export function addPets(
  app: Hono<App>,
  onResult?: (result: { success: boolean; error?: z.core.$ZodError }) => void,
): void {
  app.get("/v1/pets", zValidator("query", listQuery, onResult), async (c) => {
    const { limit, status } = c.req.valid("query");
    const db = drizzle(c.env.DB);
    const where = status === undefined ? undefined : eq(pets.status, status);
    return c.json(await db.select().from(pets).where(where).orderBy(asc(pets.id)).limit(limit));
  });
  app.post("/v1/pets", zValidator("json", newPet, onResult), async (c) => {
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
}
