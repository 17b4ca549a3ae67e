import { apiKeyOf } from "../http/authentication.ts";
import { guard } from "../http/guard.ts";
import { json } from "../http/respond.ts";
import { toTimestamp } from "../exact/timestamp.ts";
import { handlersOf } from "../operation.ts";

/** What a client may know of the key that it presents. */
export interface Key {
  id: string;
  name: string;
  /** The names may grow, and may include some that this version does not know. */
  scopes: readonly string[];
  /** In UTC. Absent for a key that does not expire. */
  expiresAt?: string | undefined;
  /** Of a customer token. */
  customer?: string | undefined;
}

export const getKey = handlersOf("getKey", { withoutDatabase: true })(guard(undefined, "none"), (c) => {
  const { id, name, scopes, expiresAt, token } = apiKeyOf(c);
  const key: Key = { id, name, scopes, expiresAt: toTimestamp(expiresAt), customer: token?.customer };
  return json<Key, 200>(c, key, 200);
});
