import * as z from "zod/mini";
import { bearerToken } from "../auth/bearer.ts";
import { CUSTOMER_SCOPES, type CustomerScope, hasScope } from "../auth/scopes.ts";
import { signToken, tokenSecret } from "../auth/token.ts";
import { serviceUnavailable } from "../errors.ts";
import { sha256 } from "../hash/sha256.ts";
import { apiKeyOf } from "../http/authentication.ts";
import { jsonBody } from "../http/body.ts";
import { guard, lacksScope } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { customerField, integerField, jsonObject, someOf } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { handlersOf } from "../operation.ts";

/** Seconds. */
export const MIN_EXPIRES_IN = 60;
export const MAX_EXPIRES_IN = 86_400;
export const DEFAULT_EXPIRES_IN = 3_600;
export const MAX_MAX_PLACED = 100;
export const DEFAULT_MAX_PLACED = 10;

export const newToken = lazy(() =>
  jsonObject({
    customer: customerField(),
    scopes: z.optional(someOf(CUSTOMER_SCOPES)),
    expiresIn: z.optional(integerField(MIN_EXPIRES_IN, MAX_EXPIRES_IN)),
    maxPlaced: z.optional(integerField(1, MAX_MAX_PLACED)),
  }),
);

/** A new customer token. The service stores nothing of it. */
export interface Token {
  token: string;
  /** Names the token in the log of the service. Not a secret. */
  id: string;
  customer: string;
  scopes: readonly CustomerScope[];
  /** In UTC. */
  expiresAt: string;
}

export const createToken = handlersOf("createToken", { withoutDatabase: true })(
  guard("tokens:create"),
  jsonBody(newToken),
  async (c) => {
    const { customer, scopes: asked, expiresIn = DEFAULT_EXPIRES_IN, maxPlaced } = c.req.valid("json");
    const key = apiKeyOf(c);
    const owned = CUSTOMER_SCOPES.filter((scope) => hasScope(key.scopes, scope));
    const scopes = asked ?? owned;
    const lacking = scopes.length === 0 ? CUSTOMER_SCOPES[0] : scopes.find((scope) => !owned.includes(scope));
    if (lacking !== undefined) throw lacksScope(c, lacking);
    const secret = tokenSecret(c.env);
    if (secret === undefined) throw serviceUnavailable(new Error("TOKEN_SECRET is missing or too short"));

    const end = Math.min(
      Date.now() + expiresIn * 1_000,
      key.expiresAt === undefined ? Infinity : Date.parse(key.expiresAt),
    );
    const claims = {
      keyHash: await sha256(bearerToken(c.req.header("Authorization") ?? "") ?? ""),
      id: crypto.randomUUID(),
      expiresAt: Math.floor(end / 1_000),
      scopes,
      customer,
      maxPlaced: maxPlaced ?? DEFAULT_MAX_PLACED,
    };
    const token = await signToken(secret, c.env.ENVIRONMENT, claims);
    const expiresAt = new Date(claims.expiresAt * 1_000).toISOString();
    return json<Token, 200>(c, { token, id: claims.id, customer, scopes, expiresAt }, 200);
  },
);
