import type { ApiKey, AppEnv } from "../env.ts";
import { lookUpKeyOfHash } from "./key-lookup.ts";
import { hasScope } from "./scopes.ts";
import { tokenSecret, verifyToken } from "./token.ts";

/** The name of every key that is presented as a customer token. That of the key is for its operator. */
const NAME = "customer token";

/**
 * Returns what a customer token may do: what both the token and the key that created it may. Returns undefined for one that is forged,
 * of another environment or expired, and when its key may not create tokens, or no longer.
 *
 * The MAC comes first. So only a token that this service signed costs a read of storage.
 *
 * @param token of which `isTokenOf` is true.
 * @throws ApiError `service_unavailable` when KV cannot respond.
 */
export async function lookUpCustomerToken(
  env: AppEnv["Bindings"],
  token: string,
  onCorrupt: (name: string) => void,
): Promise<ApiKey | undefined> {
  const secret = tokenSecret(env);
  const claims = secret && (await verifyToken(secret, env.ENVIRONMENT, token));
  if (!claims) return undefined;
  const record = await lookUpKeyOfHash(env.API_KEYS, claims.keyHash, onCorrupt);
  if (record === undefined || !hasScope(record.scopes, "tokens:create")) return undefined;
  const { id, customer, maxPlaced, scopes, keyHash } = claims;
  // A rotation may have brought the end of the key forward.
  const expiresAt = Math.min(claims.expiresAt * 1_000, Date.parse(record.expiresAt ?? "") || Infinity);
  return {
    id: record.id,
    name: NAME,
    scopes: scopes.filter((scope) => hasScope(record.scopes, scope)),
    expiresAt: new Date(expiresAt).toISOString(),
    token: { id, customer, maxPlaced, keyHash },
  };
}
