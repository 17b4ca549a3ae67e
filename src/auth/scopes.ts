/** The permissions of a key. Each operation needs one of them. The operations of categories need those of the animals. */
export const SCOPES = [
  "pets:read",
  "pets:write",
  "store:read",
  "store:write",
  "events:read",
  "webhooks:manage",
  "orders:place",
  "orders:manage",
  "orders:own",
  "tokens:create",
] as const;
export type Scope = (typeof SCOPES)[number];

/** The scopes that a customer token may have. No operation needs `orders:own` of a key, which can only pass it on to tokens. */
export const CUSTOMER_SCOPES = ["pets:read", "orders:place", "orders:own"] as const satisfies readonly Scope[];
export type CustomerScope = (typeof CUSTOMER_SCOPES)[number];

/** Whether a key with these scopes may do what a scope allows. Some scopes include others. */
export function hasScope(scopes: readonly string[], scope: Scope): boolean {
  if (scopes.includes(scope)) return true;
  switch (scope) {
    case "orders:place":
    case "orders:manage":
      return scopes.includes("store:write");
    case "orders:own":
      return scopes.includes("store:read") && hasScope(scopes, "orders:manage");
    default:
      return false;
  }
}
