import { execFileSync } from "node:child_process";

/**
 * Runs git in the current folder.
 *
 * @returns its output, trimmed.
 * @throws Error when it fails.
 */
export function git(...args: string[]): string {
  return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}
