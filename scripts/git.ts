import { execFileSync } from "node:child_process";

/**
 * Runs git in the current folder.
 *
 * @returns its output, trimmed.
 * @throws Error when it fails.
 */
export function git(...args: string[]): string {
  try {
    return execFileSync("git", args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
  } catch (error) {
    const { code, stderr } = error as NodeJS.ErrnoException & { stderr?: string };
    const reason = code === "ENOENT" ? "git is not installed" : (stderr?.trim().replaceAll(/\s+/g, " ") ?? "");
    throw new Error(`git ${args[0]} failed: ${reason || "no reason was given"}.`, { cause: error });
  }
}
