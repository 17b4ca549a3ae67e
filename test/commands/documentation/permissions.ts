import { readFileSync } from "node:fs";
import type { CloudflareApi } from "../cloudflare/api.ts";

/** The list of the permissions of a token in docs/operations.md: those of each command. */
export const PERMISSIONS: ReadonlyMap<string, readonly string[]> = new Map(
  [...readFileSync("docs/operations.md", "utf8").matchAll(/^- \*\*(.+)\*\*: (`np[mx] .+)$/gm)].flatMap(
    ([, permissions = "", commands = ""]) =>
      [...commands.matchAll(/`(.+?)`/g)].map(([, command = ""]) => [command, permissions.split(", ")] as const),
  ),
);

/** The permissions that let requests pass, without those that another one includes. */
export function usedPermissions({ usedRights }: CloudflareApi): Set<string | undefined> {
  const isIncluded = (right: string) => right.endsWith(": Read") && usedRights.has(right.replace(": Read", ": Edit"));
  return new Set([...usedRights].filter((right) => right !== undefined && !isIncluded(right)));
}
