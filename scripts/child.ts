import { type ChildProcess, spawn, type SpawnOptions } from "node:child_process";
import { channel } from "node:diagnostics_channel";
import { Socket } from "node:net";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

// A URL, because --import takes a path for one: #, % and ? would end it.
const PRELOAD = pathToFileURL(join(import.meta.dirname, "end-with-parent.ts")).href;
const END_ORPHANS = join(import.meta.dirname, "end-orphans.ts");

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

/** Ends one of these programs now, with what it started. */
export function endChild({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended already, and its output is still to be read.
  }
}

export function endChildren(): void {
  for (const child of running) endChild(child);
}

/**
 * Has the programs that a library starts end with this process. A library may end them itself, but not when this process is killed.
 *
 * @returns what the library returns, and what to call when it has ended its programs.
 */
export async function endWithThisProcess<Result>(start: () => Promise<Result>) {
  const watcher = spawn(process.execPath, ["--no-warnings", END_ORPHANS], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const { stdin } = watcher;
  // Neither keeps this process from ending.
  watcher.unref();
  if (stdin instanceof Socket) stdin.unref();
  for (const source of [watcher, stdin]) source.on("error", () => {});
  const release = () => void watcher.kill("SIGKILL");
  const report = (message: unknown): void => {
    const { process: program } = message as { process: ChildProcess };
    program.once("spawn", () => stdin.write(`${program.pid}\n`));
  };
  const programs = channel("child_process");
  programs.subscribe(report);
  try {
    return { result: await start(), release };
  } catch (error) {
    release();
    throw error;
  } finally {
    programs.unsubscribe(report);
  }
}
