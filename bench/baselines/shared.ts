// The shared parts of the stacks with libraries: the table, the schemas, and the usual middleware with a bearer key. They
// implement the interface without the features that their libraries lack: exact integers, links to the next page, bookmarks, a
// structured log.
import { integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Hono } from "hono";
import { bearerAuth } from "hono/bearer-auth";
import { cors } from "hono/cors";
import { HTTPException } from "hono/http-exception";
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

export type App = { Bindings: Env; Variables: { key: { id: string; scopes: string[] } } };

/** Turns every thrown error into a failure of the interface, with Hono's own means. */
export function refuse(status: 400 | 401 | 403 | 429, message: string): never {
  throw new HTTPException(status, { message });
}

export function describe({ issues }: { issues: readonly { path: PropertyKey[]; message: string }[] }): string {
  return issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ");
}

/** Accepts a key that KV contains. */
export const bearerKey = bearerAuth<App>({
  async verifyToken(token, c) {
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(token));
    const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    const key = await c.env.API_KEYS.get<App["Variables"]["key"]>(`key:${hex}`, "json");
    if (key !== null) c.set("key", key);
    return key !== null;
  },
});

const CODES: Record<number, string> = {
  400: "invalid_request",
  401: "unauthorized",
  403: "insufficient_scope",
  429: "rate_limited",
};

export function useMiddleware(app: Hono<App>): void {
  app.use(logger(), requestId(), secureHeaders(), cors());
  app.onError((error, c) => {
    const status = error instanceof HTTPException ? error.status : 500;
    const challenge = error instanceof HTTPException ? error.res?.headers.get("WWW-Authenticate") : undefined;
    if (challenge) c.header("WWW-Authenticate", challenge);
    return c.json(
      { code: CODES[status] ?? "internal_error", message: error.message || `Answer ${status}`, status },
      status,
    );
  });
  app.use("/v1/*", bearerKey);
  app.use("/v1/*", async (c, next) => {
    const { id, scopes } = c.get("key");
    if (!scopes.includes(c.req.method === "POST" ? "pets:write" : "pets:read")) refuse(403, "Not with this key");
    if (!(await c.env.RATE_LIMITER.limit({ key: id })).success) refuse(429, "Too many requests");
    await next();
  });
}
