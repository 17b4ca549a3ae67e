import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError, serviceUnavailable } from "../errors.ts";
import { logError } from "../http/request-log.ts";
import { lookUpKey } from "./key-lookup.ts";
import type { Scope } from "./key-record.ts";

const CHALLENGE = 'Bearer realm="petstore"';

/** `Bearer <token>`; the name of the scheme is case-insensitive (RFC 9110, section 11.1). */
const CREDENTIALS = /^bearer +(.+)$/i;

/** Seconds of the rate limiter's window in wrangler.toml: after that long, there is room again. */
const RATE_LIMIT_PERIOD_SECONDS = 60;

/** Lets only good keys pass, and says whose key it is (RFC 6750). One answer for every bad key. */
export const authenticate: MiddlewareHandler<AppEnv> = async (c, next) => {
  c.header("Cache-Control", "private, no-store");
  const key = CREDENTIALS.exec(c.req.header("Authorization") ?? "")?.[1];
  if (key === undefined) {
    throw unauthorized("Send an API key in the header `Authorization: Bearer <API_KEY>`.", CHALLENGE);
  }
  const record = await lookUpKey(c.env.API_KEYS, c.env.ENVIRONMENT, key, Date.now(), (name) =>
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

/** Every operation behind a key starts with this: the key needs the scope, and has to keep within its rate limit. */
export function authorize(scope: Scope): MiddlewareHandler<AppEnv> {
  return async (c, next) => {
    const { id, scopes } = c.get("apiKey");
    if (!scopes.includes(scope)) {
      throw new ApiError("insufficient_scope", `This API key lacks the scope ${scope}.`, {
        headers: { "WWW-Authenticate": `${CHALLENGE}, error="insufficient_scope", scope="${scope}"` },
      });
    }
    await limitRate(c, id);
    await next();
  };
}

async function limitRate(c: Context<AppEnv>, keyId: string): Promise<void> {
  const { success } = await c.env.RATE_LIMITER.limit({ key: keyId }).catch((cause: unknown) => {
    throw serviceUnavailable(cause);
  });
  if (!success) {
    throw new ApiError("rate_limited", "Too many requests with this API key. Slow down.", {
      headers: { "Retry-After": String(RATE_LIMIT_PERIOD_SECONDS) },
    });
  }
}
