import type { Context } from "hono";
import { routePath } from "hono/route";
import type { AppEnv } from "../env.ts";
import { setEntityTag } from "../http/precondition.ts";
import { jsonText } from "../http/respond.ts";
import type { Creation } from "./creation.ts";

/** Of a resource that nobody has changed yet, and so of the first response to a creation. */
const FIRST_VERSION = 1;

/**
 * Responds to a creation with 201 and the address of the resource, which is the id below the path of its collection.
 *
 * @param text the body.
 */
export function respondWithCreation<Body>(c: Context<AppEnv>, { id, replayed }: Creation, text: string) {
  const headers = c.get("headers");
  if (replayed) headers["Idempotency-Replayed"] = "true";
  headers["Location"] = `${routePath(c)}/${id}`;
  setEntityTag(c, FIRST_VERSION);
  return jsonText<Body, 201>(c, text, 201);
}
