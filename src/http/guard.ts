import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { respondWithError } from "./error-handler.ts";
import { authenticateRequest, CHALLENGE, ownerOf } from "./authentication.ts";
import { limitRate } from "../auth/rate-limit.ts";
import { readQuery } from "./query.ts";
import { type CustomerScope, hasScope, type Scope } from "../auth/scopes.ts";

/** The failure of a request whose key lacks a scope (RFC 6750, section 3.1). */
export function lacksScope(c: Context<AppEnv>, scope: Scope): ApiError {
  c.get("headers")["WWW-Authenticate"] = `${CHALLENGE}, error="insufficient_scope", scope="${scope}"`;
  const presented = c.get("apiKey")?.token === undefined ? "API key" : "customer token";
  return new ApiError("insufficient_scope", `This ${presented} lacks the scope ${scope}.`);
}

/** The same for an operation that no customer token may use, whatever its scopes. */
export function refusesCustomers(c: Context<AppEnv>): ApiError {
  c.get("headers")["WWW-Authenticate"] = `${CHALLENGE}, error="insufficient_scope"`;
  return new ApiError("insufficient_scope", "Customer tokens cannot use this operation.");
}

/** One of both scopes is enough. The operation checks it: what it does depends on them. */
const EITHER = "pets:read or orders:own";
/** What an operation needs of a customer token: a scope, or "none" when a good token is enough. */
export type OfCustomers = CustomerScope | "none" | typeof EITHER;
/** Customers see the same animals. Everything else that they reach is their own. */
const isShared = (customers: OfCustomers | undefined) => customers === "pets:read" || customers === "none";

/**
 * The first handler of every operation. It checks the key, the scope, the rate limit of the key, and the names of the query parameters,
 * in this order.
 *
 * @param scope of keys. Undefined for an operation that every key may use.
 * @param customers undefined for an operation that customer tokens may not use.
 */
export function guard(
  scope: Scope | undefined,
  customers?: OfCustomers,
): MiddlewareHandler<AppEnv> & { readonly scope: Scope | undefined; readonly customers: OfCustomers | undefined } {
  const middleware: MiddlewareHandler<AppEnv> = async (c, next) => {
    const key = await authenticateRequest(c);
    if (key instanceof Response) return key;
    const { token } = key;
    if (token !== undefined && customers === undefined) return respondWithError(c, refusesCustomers(c));
    const needed = token === undefined ? scope : customers;
    if (needed !== undefined && needed !== "none" && needed !== EITHER && !hasScope(key.scopes, needed))
      return respondWithError(c, lacksScope(c, needed));
    await limitRate(c.env, key, ownerOf(c));
    c.set("customer", token === undefined || isShared(customers) ? null : token.customer);
    readQuery(c);
    return await next();
  };
  return Object.assign(middleware, { scope, customers });
}
