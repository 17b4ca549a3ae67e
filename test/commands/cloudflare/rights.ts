import { Refusal } from "./route.ts";

/**
 * The permissions of a token, any of which lets a request pass: `x-api-token-group` in Cloudflare's OpenAPI description. What it calls
 * Write is Edit in the dashboard, and includes Read. The first matching line counts, and the least permission comes first.
 */
const RIGHTS: readonly (readonly [methods: string, path: RegExp, rights: readonly string[]])[] = [
  ["GET", /^\/storage\/kv\//, ["Workers KV Storage: Read"]],
  ["PUT POST DELETE", /^\/storage\/kv\//, ["Workers KV Storage: Edit"]],
  ["GET", /^\/d1\//, ["D1: Read"]],
  ["PUT POST DELETE", /^\/d1\//, ["D1: Edit"]],
  ["GET", /^\/r2\//, ["Workers R2 Storage: Read"]],
  ["PUT POST DELETE", /^\/r2\//, ["Workers R2 Storage: Edit"]],
  ["GET", /^\/workers\//, ["Workers Scripts: Read"]],
  ["PUT POST PATCH DELETE", /^\/workers\//, ["Workers Scripts: Edit"]],
  ["GET", /^\/(?:user\/tokens\/verify|accounts)$/, []],
  // The address of an upload holds a permission of its own.
  ["PUT", /^\/uploads\//, []],
];

/**
 * The permission that a request needs of a token. None for some requests.
 *
 * @throws Refusal as Cloudflare's API does when the token lacks it. D1 does it with a 401, the others with a 403.
 */
export function checkRights(method: string, path: string, rights: readonly string[]): string | undefined {
  const needed = RIGHTS.find(([methods, pattern]) => methods.split(" ").includes(method) && pattern.test(path))?.[2];
  const right = needed?.find((right) => rights.includes(right) || rights.includes(right.replace(": Read", ": Edit")));
  if (right !== undefined || needed?.length === 0) return right;
  throw new Refusal(path.startsWith("/d1/") ? 401 : 403, 10_000, "Authentication error");
}
