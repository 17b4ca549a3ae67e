import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect } from "vitest";

export interface DevService {
  process: ChildProcess;
  /** Its output until it was ready. */
  output: string;
  base: string;
  key: string;
}

/**
 * Starts `npm run dev` on a free port, and waits for the last line of its welcome.
 *
 * @param child what starts it, unless it starts without npm.
 */
export async function startDev(
  state: string,
  child = spawnDev("--port", "0", "--persist-to", state),
): Promise<DevService> {
  let output = "";
  child.stderr?.on("data", (text: Buffer) => {
    output += text.toString();
  });
  await new Promise<void>((resolve, reject) => {
    createInterface({ input: child.stdout ?? expect.unreachable() })
      .on("line", (line) => {
        output += `${line}\n`;
        if (line.startsWith("curl ")) resolve();
      })
      .on("close", () => reject(new Error(`npm run dev ended:\n${output}`)));
  });
  const [, base = "", key = ""] = /^BASE=(\S+)\nKEY=(\S+)$/m.exec(output) ?? [];
  return { process: child, output, base, key };
}

function spawnDev(...args: string[]): ChildProcess {
  // The command is local development, whatever environment CLOUDFLARE_ENV names.
  const env = { ...process.env, CLOUDFLARE_ENV: "production" };
  return spawn(process.execPath, ["scripts/dev.ts", ...args], { env, detached: true });
}

export function killGroup({ pid, exitCode, signalCode }: ChildProcess): void {
  if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
}
