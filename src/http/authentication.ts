import type { Context } from "hono";
import { bearerToken } from "../auth/bearer.ts";
import { lookUpKey } from "../auth/key-lookup.ts";
import type { ApiKey, AppEnv } from "../env.ts";
import { logError } from "../log/log.ts";
import { respondWithError } from "./error-handler.ts";

export const CHALLENGE = 'Bearer realm="petstore"';
const INVALID_KEY = "The API key is not valid";

/**
 * Authenticates a request (RFC 6750). Returns the record of its key, or the response that refuses it. The response is the same
 * for every bad key.
 *
 * @throws ApiError `service_unavailable` when KV cannot respond.
 */
export async function authenticateRequest(c: Context<AppEnv>): Promise<ApiKey | Response> {
  const headers = c.get("headers");
  headers["Cache-Control"] = "private, no-store";
  const key = bearerToken(c.req.header("Authorization") ?? "");
  if (key === undefined) {
    headers["WWW-Authenticate"] = CHALLENGE;
    const message = "Send an API key in the header `Authorization: Bearer <API_KEY>`.";
    return respondWithError(c, { code: "unauthorized", message });
  }
  const record = await lookUpKey(c.env.API_KEYS, c.env.ENVIRONMENT, key, (name) =>
    logError(c, new Error(`The KV entry ${name} is not a key record`)),
  );
  if (record === undefined) {
    headers["WWW-Authenticate"] = `${CHALLENGE}, error="invalid_token", error_description="${INVALID_KEY}"`;
    return respondWithError(c, { code: "unauthorized", message: `${INVALID_KEY}.` });
  }
  c.get("log").keyId = record.id;
  c.set("apiKey", record);
  return record;
}

/**
 * The key that `authenticateRequest` accepted.
 *
 * @throws Error when `authenticateRequest` did not run, which is a bug.
 */
export function apiKeyOf(c: Context<AppEnv>): ApiKey {
  const key = c.get("apiKey");
  if (key === undefined) throw new Error("No API key was checked for this request");
  return key;
}
