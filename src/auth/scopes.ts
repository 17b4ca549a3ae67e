/** What a key may do. An operation names the one it needs. */
export const SCOPES = ["pets:read", "pets:write", "store:read", "store:write"] as const;
export type Scope = (typeof SCOPES)[number];
