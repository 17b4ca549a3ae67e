import type { Context } from "hono";
import { routePath } from "hono/route";
import type { AppEnv } from "../env.ts";
import { isMet, type Preconditions, preconditionFailed, setEntityTag } from "../http/precondition.ts";
import { json, jsonText } from "../http/respond.ts";
import type { ApiError } from "../errors.ts";
import type { Creation } from "./creation.ts";
import type { Outcome } from "./patch.ts";

/** The version of a new resource, and therefore of the first response to a creation. */
const FIRST_VERSION = 1;

/**
 * Responds to a creation with 201 and the address of the resource: the path of its collection, followed by its id.
 *
 * @param body builds the body when the creation has none.
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

/** Responds to a creation of several resources with 201 and all of them. */
export function respondWithBatch<Body>(
  c: Context<AppEnv>,
  { response, replayed }: Pick<Creation, "response" | "replayed">,
) {
  if (replayed) c.get("headers")["Idempotency-Replayed"] = "true";
  if (response === null) throw new Error("The response to a batch was not remembered");
  return jsonText<Body, 201>(c, response, 201);
}

/**
 * Responds to a patch with 200 and the whole resource. With an `Idempotency-Key`, a retry gets the first response.
 *
 * @param preconditions of the request.
 * @param missing the failure when there is no such resource.
 * @param conflict the failure when the resource does not allow the patch, or undefined.
 * @throws ApiError `missing`, `conflict` or `precondition_failed`, the first that applies.
 */
export function respondWithPatch<Row extends { version: number }, Body>(
  c: Context<AppEnv>,
  { memory, replayed, row, changed }: Outcome<Row>,
  preconditions: Preconditions,
  toBody: (row: Row) => Body,
  missing: () => ApiError,
  conflict: (row: Row) => ApiError | undefined,
) {
  if (memory !== undefined) {
    if (replayed) c.get("headers")["Idempotency-Replayed"] = "true";
    setEntityTag(c, memory.version ?? FIRST_VERSION);
    if (memory.response === null) throw new Error("The response to a patch was not remembered");
    return jsonText<Body, 200>(c, memory.response, 200);
  }
  if (row === undefined) throw missing();
  const refusal = conflict(row);
  if (refusal !== undefined) throw refusal;
  if (!changed && !isMet(preconditions, row.version)) throw preconditionFailed();
  setEntityTag(c, row.version);
  return json<Body, 200>(c, toBody(row), 200);
}
