import type { Context } from "hono";
import { routePath } from "hono/route";
import type { AppEnv } from "../env.ts";
import { setEntityTag } from "../http/precondition.ts";
import { json, jsonText } from "../http/respond.ts";
import type { Creation } from "./creation.ts";

/** Of a resource that nobody has changed yet, and so of the first response to a creation. */
const FIRST_VERSION = 1;

/**
 * Responds to a creation with 201 and the address of the resource, which is the id below the path of its collection.
 *
 * @param body makes it again when the creation has none.
 */
export function respondWithCreation<Body>(c: Context<AppEnv>, { id, response, replayed }: Creation, body?: () => Body) {
  const headers = c.get("headers");
  if (replayed) headers["Idempotency-Replayed"] = "true";
  headers["Location"] = `${routePath(c)}/${id}`;
  setEntityTag(c, FIRST_VERSION);
  if (response !== null) return jsonText<Body, 201>(c, response, 201);
  if (body === undefined) throw new Error("The response to a creation was not remembered");
  return json(c, body(), 201);
}
