import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { respondWithError } from "./error-handler.ts";
import { authenticateRequest, CHALLENGE } from "./authentication.ts";
import { limitRate } from "../auth/rate-limit.ts";
import { readQuery } from "./query.ts";
import type { Scope } from "../auth/scopes.ts";

/** The failure of a request whose key lacks a scope (RFC 6750, section 3.1). */
export function lacksScope(c: Context<AppEnv>, scope: Scope): ApiError {
  c.get("headers")["WWW-Authenticate"] = `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
  return new ApiError("insufficient_scope", `This API key lacks the scope ${scope}.`);
}

/**
 * The first handler of every operation. It checks the key, the scope, the rate limit of the key, and the names of the query parameters,
 * in this order.
 *
 * @param scope undefined for an operation that every key may use.
 */
export function guard(scope: Scope | undefined): MiddlewareHandler<AppEnv> & { readonly scope: Scope | undefined } {
  const middleware: MiddlewareHandler<AppEnv> = async (c, next) => {
    const key = await authenticateRequest(c);
    if (key instanceof Response) return key;
    if (scope !== undefined && !key.scopes.includes(scope)) return respondWithError(c, lacksScope(c, scope));
    await limitRate(c.env.RATE_LIMITER, key.id);
    readQuery(c);
    return next();
  };
  return Object.assign(middleware, { scope });
}
