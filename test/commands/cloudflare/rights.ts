import { Refusal } from "./route.ts";

/**
 * The permissions of a token, any of which lets a request pass: `x-api-token-group` in Cloudflare's OpenAPI description. What it calls
 * Write is Edit in the dashboard. The first matching line counts.
 */
const RIGHTS: readonly (readonly [methods: string, path: RegExp, rights: readonly string[]])[] = [
  ["GET", /^\/storage\/kv\//, ["Workers KV Storage: Read", "Workers KV Storage: Edit"]],
  ["PUT POST DELETE", /^\/storage\/kv\//, ["Workers KV Storage: Edit"]],
  ["GET", /^\/d1\//, ["D1: Read", "D1: Edit"]],
  ["PUT POST DELETE", /^\/d1\//, ["D1: Edit"]],
  ["GET", /^\/r2\//, ["Workers R2 Storage: Read", "Workers R2 Storage: Edit"]],
  ["PUT POST DELETE", /^\/r2\//, ["Workers R2 Storage: Edit"]],
  ["POST DELETE", /^\/workers\/scripts\/[^/]+\/tails/, ["Workers Tail: Read", "Workers Scripts: Edit"]],
  ["GET", /^\/workers\//, ["Workers Scripts: Read", "Workers Scripts: Edit", "Workers Tail: Read"]],
  ["PUT POST PATCH DELETE", /^\/workers\//, ["Workers Scripts: Edit"]],
  ["POST", /^\/graphql$/, ["Account Analytics: Read"]],
  ["GET", /^\/(?:user\/tokens\/verify|accounts)$/, []],
];

/** @throws Refusal as Cloudflare's API does when a token lacks a permission. D1 does it with a 401, the others with a 403. */
export function checkRights(method: string, path: string, rights: ReadonlySet<string>): void {
  const needed = RIGHTS.find(([methods, pattern]) => methods.split(" ").includes(method) && pattern.test(path))?.[2];
  if (needed?.length === 0 || needed?.some((right) => rights.has(right))) return;
  throw new Refusal(path.startsWith("/d1/") ? 401 : 403, 10_000, "Authentication error");
}
