// What a person does about a request that Cloudflare refused or did not answer. Paths are those of its API, below the account.

/** Permissions of a token by the start of a path: `x-api-token-group` in Cloudflare's OpenAPI description. */
const PERMISSIONS: readonly (readonly [path: string, permission: string])[] = [
  ["/d1/", "D1"],
  ["/r2/", "Workers R2 Storage"],
  ["/storage/kv/", "Workers KV Storage"],
  ["/workers/observability/", "Workers Observability"],
  ["/workers/", "Workers Scripts"],
];

/** "Invalid request headers", with status 400: a token that is none, for example because it was cut when it was copied. */
const MALFORMED = 6003;

/** Whether the API refused a request for its token or login. */
export function isAboutToken(status: number, codes: readonly number[]): boolean {
  return status === 401 || status === 403 || codes.includes(MALFORMED);
}

export const CONNECTION_ADVICE =
  "Check the network, the proxy and the firewall of this machine, and Cloudflare's status page.";

/**
 * @param method undefined when it is unknown. Then the advice does not tell whether the permission is to read or to edit.
 */
export function adviceOnToken(path: string, method?: string): string {
  const level = method === undefined ? "" : method === "GET" ? ": Read" : ": Edit";
  const permission = PERMISSIONS.find(([start]) => path.startsWith(start))?.[1];
  const lack = permission === undefined ? "may not do this" : `lacks the permission "${permission}${level}"`;
  return (
    `The token or login is not valid for this account, or ${lack}. Tokens are made in the dashboard, under My Profile, API Tokens, ` +
    "or Manage Account, Account API Tokens; a login by npx wrangler login. docs/operations.md has the permissions of each command."
  );
}

/** What to do about a failure of wrangler, from all that it printed. Undefined when nothing is known. */
export function adviceOnWrangler(output: string): string | undefined {
  const path = /\/accounts\/\w+(\/[^\s)]*)/.exec(output)?.[1] ?? "";
  if (/\[code: (?:10000|10023|9109|6003)\]| - 40[13]: /.test(output)) return adviceOnToken(path);
  return /fetch failed/.test(output) ? CONNECTION_ADVICE : undefined;
}
