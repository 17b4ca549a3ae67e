import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { limitRate } from "../http/rate-limit.ts";
import { logError } from "../http/request-log.ts";
import { lookUpKey } from "./key-lookup.ts";
import type { Scope } from "./key-record.ts";

const CHALLENGE = 'Bearer realm="petstore"';

/** `Bearer <token>`; the name of the scheme is case-insensitive (RFC 9110, section 11.1). */
const CREDENTIALS = /^bearer +(.+)$/i;

/** Lets only good keys pass, and says whose key it is (RFC 6750). One answer for every bad key. */
export const authenticate: MiddlewareHandler<AppEnv> = async (c, next) => {
  c.get("headers")["Cache-Control"] = "private, no-store";
  const key = CREDENTIALS.exec(c.req.header("Authorization") ?? "")?.[1];
  if (key === undefined) {
    throw unauthorized("Send an API key in the header `Authorization: Bearer <API_KEY>`.", CHALLENGE);
  }
  const record = await lookUpKey(c.env.API_KEYS, c.env.ENVIRONMENT, key, (name) =>
    logError(c, new Error(`The KV entry ${name} is not a key record`)),
  );
  if (record === undefined) {
    const description = "The API key is not valid";
    throw unauthorized(`${description}.`, `${CHALLENGE}, error="invalid_token", error_description="${description}"`);
  }
  c.get("log").keyId = record.id;
  c.set("apiKey", record);
  await next();
};

function unauthorized(message: string, challenge: string): ApiError {
  return new ApiError("unauthorized", message, { headers: { "WWW-Authenticate": challenge } });
}

/** Every operation behind a key starts with this: the key needs the scope, and then has to keep within its rate limit. */
export function authorize(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    if (!c.get("apiKey").scopes.includes(scope)) {
      throw new ApiError("insufficient_scope", `This API key lacks the scope ${scope}.`, {
        headers: { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
      });
    }
    await limitRate(c);
    await next();
  };
}
