/** The permissions of a key. Each operation needs one of them. */
export const SCOPES = ["pets:read", "pets:write", "store:read", "store:write"] as const;
export type Scope = (typeof SCOPES)[number];
