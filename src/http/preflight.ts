import type { MiddlewareHandler } from "hono";
import { cors } from "hono/cors";
import type { AppEnv } from "../env.ts";

const answer = cors({
  origin: "*",
  allowMethods: ["GET", "HEAD", "POST"],
  allowHeaders: ["Authorization", "Content-Type", "Idempotency-Key", "x-d1-bookmark"],
  maxAge: 86_400,
});

/** CORS preflights (Fetch, section 3.2.2), without a key. Any other OPTIONS is a method that no path knows. */
export const preflight: MiddlewareHandler<AppEnv> = async (c, next) => {
  if (c.req.header("Access-Control-Request-Method") === undefined) return next();
  for (const [name, value] of Object.entries(c.get("headers"))) c.header(name, value);
  return answer(c, next);
};
