/** The permissions of a key. Each operation needs one of them. The operations of categories need those of the animals. */
export const SCOPES = [
  "pets:read",
  "pets:write",
  "store:read",
  "store:write",
  "events:read",
  "webhooks:manage",
] as const;
export type Scope = (typeof SCOPES)[number];
