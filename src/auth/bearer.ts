import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { limitRate } from "../http/rate-limit.ts";
import { logError } from "../http/request-log.ts";
import { isInForce, lookUpKey } from "./key-lookup.ts";
import type { KeyRecord, Scope } from "./key-record.ts";

const CHALLENGE = 'Bearer realm="petstore"';

/** The name of the scheme is case-insensitive, and one space or more follows it (RFC 9110, sections 11.1 and 11.4). */
const SCHEME = /^bearer +/i;
/** Characters in which the scheme and the spaces after it have to end. */
const MAX_SCHEME_LENGTH = 100;

/**
 * The token of an `Authorization: Bearer <token>` header, or undefined when there is none. Takes the same time for every length
 * of the header: it runs before anybody has shown a key.
 */
export function bearerToken(authorization: string): string | undefined {
  const scheme = SCHEME.exec(authorization.slice(0, MAX_SCHEME_LENGTH))?.[0];
  return scheme === undefined || scheme.length === authorization.length
    ? undefined
    : authorization.slice(scheme.length);
}

/** Lets only good keys pass, and says whose key it is (RFC 6750). One response for every bad key. */
export const authenticate: MiddlewareHandler<AppEnv> = async (c, next) => {
  await requireKey(c);
  await next();
};

/**
 * Every operation behind a key starts with this: it needs a good key with the scope, and then the key has to keep within its rate
 * limit.
 */
export function authorize(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { scopes } = await requireKey(c);
    if (!scopes.includes(scope)) {
      throw new ApiError("insufficient_scope", `This API key lacks the scope ${scope}.`, {
        headers: { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
      });
    }
    await limitRate(c);
    await next();
  };
}

async function requireKey(c: Context<AppEnv>): Promise<KeyRecord> {
  c.get("headers")["Cache-Control"] = "private, no-store";
  const key = bearerToken(c.req.header("Authorization") ?? "");
  if (key === undefined) {
    throw unauthorized("Send an API key in the header `Authorization: Bearer <API_KEY>`.", CHALLENGE);
  }
  const record = await lookUpKey(c.env.API_KEYS, c.env.ENVIRONMENT, key, (name) =>
    logError(c, new Error(`The KV entry ${name} is not a key record`)),
  );
  if (record === undefined) throw invalidKey();
  c.get("log").keyId = record.id;
  c.set("apiKey", record);
  return record;
}

/**
 * Asks once more whether the key is in force, after a wait that the client can draw out.
 *
 * @throws ApiError `unauthorized`
 */
export function requireKeyInForce(c: Context<AppEnv>): void {
  if (!isInForce(c.get("apiKey"))) throw invalidKey();
}

function invalidKey(): ApiError {
  const description = "The API key is not valid";
  return unauthorized(`${description}.`, `${CHALLENGE}, error="invalid_token", error_description="${description}"`);
}

function unauthorized(message: string, challenge: string): ApiError {
  return new ApiError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } });
}
