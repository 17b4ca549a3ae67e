import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { join } from "node:path";

const PRELOAD = join(import.meta.dirname, "end-with-parent.ts");

export interface ChildOptions extends SpawnOptions {
  stdio: [input: "ignore", output: "pipe" | 2, errors: "pipe" | 2];
}

const running = new Set<ChildProcess>();

/**
 * Starts a program of Node.js that ends with this process, however this process ends: scripts/end-with-parent.ts. It leads a process
 * group of its own.
 *
 * @param args a file, and its arguments.
 */
export function startChild(args: readonly string[], { stdio, ...options }: ChildOptions): ChildProcess {
  // The last one is the pipe that breaks when this process ends.
  const child = spawn(process.execPath, ["--no-warnings", "--import", PRELOAD, ...args], {
    ...options,
    stdio: [...stdio, "pipe"],
    detached: true,
  });
  running.add(child);
  return child.once("close", () => running.delete(child));
}

/** Ends all of these programs now. */
export function endChildren(): void {
  for (const { pid } of running) if (pid !== undefined) process.kill(-pid, "SIGKILL");
}
