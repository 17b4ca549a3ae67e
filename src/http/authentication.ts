import type { Context } from "hono";
import { bearerToken } from "../auth/bearer.ts";
import { lookUpCustomerToken } from "../auth/customer-token.ts";
import { lookUpKey } from "../auth/key-lookup.ts";
import { isTokenOf } from "../auth/token.ts";
import type { ApiKey, AppEnv } from "../env.ts";
import { logError } from "../log/log.ts";
import { respondWithError } from "./error-handler.ts";

export const CHALLENGE = 'Bearer realm="petstore"';
const INVALID_KEY = "The API key is not valid";

/**
 * Authenticates a request (RFC 6750). Returns the record of its key, or the response that refuses it. The response is the same
 * for every bad key and every bad customer token.
 *
 * @throws ApiError `service_unavailable` when KV cannot respond.
 */
export async function authenticateRequest(c: Context<AppEnv>): Promise<ApiKey | Response> {
  const headers = c.get("headers");
  headers["Cache-Control"] = "private, no-store";
  const presented = bearerToken(c.req.header("Authorization") ?? "");
  if (presented === undefined) {
    headers["WWW-Authenticate"] = CHALLENGE;
    const message = "Send an API key in the header `Authorization: Bearer <API_KEY>`.";
    return respondWithError(c, { code: "unauthorized", message });
  }
  const onCorrupt = (name: string) => logError(c, new Error(`The KV entry ${name} is not a key record`));
  const key: ApiKey | undefined = isTokenOf(c.env.ENVIRONMENT, presented)
    ? await lookUpCustomerToken(c.env, presented, onCorrupt)
    : await lookUpKey(c.env.API_KEYS, c.env.ENVIRONMENT, presented, onCorrupt);
  if (key === undefined) return respondWithError(c, invalidKey(c));
  const log = c.get("log");
  log.keyId = key.id;
  log.tokenId = key.token?.id;
  c.set("apiKey", key);
  return key;
}

/** What refuses a key or a token that is not valid, or not any more. No Error, whose stack costs something: strangers send bad keys. */
export function invalidKey(c: Context<AppEnv>) {
  const challenge = `${CHALLENGE}, error="invalid_token", error_description="${INVALID_KEY}"`;
  c.get("headers")["WWW-Authenticate"] = challenge;
  return { code: "unauthorized" as const, message: `${INVALID_KEY}.` };
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

/**
 * The customer whose orders alone the request may reach. Null for a key, which may reach all.
 *
 * @throws Error when `guard` did not run, which is a bug.
 */
export function customerOf(c: Context<AppEnv>): string | null {
  const customer = c.get("customer");
  if (customer === undefined) throw new Error("No guard restricted this request");
  return customer;
}

/** The owner of what the request leaves for others like it: the key, or the key and the customer. A customer has no spaces. */
export function ownerOf(c: Context<AppEnv>): string {
  const { id, token } = apiKeyOf(c);
  return token === undefined ? id : `${id} ${token.customer}`;
}
