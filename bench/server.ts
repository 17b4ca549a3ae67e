import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import type { Prepared } from "./prepare.ts";
import { LIST, send } from "./requests.ts";

const WORKERD = join(import.meta.dirname, "../node_modules/workerd/bin/workerd");

/** A candidate in its own workerd, without a proxy and with its bindings stubbed in JavaScript (bindings.js). */
export class Server {
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(port: number, process: ChildProcess) {
    this.port = port;
    this.#process = process;
  }

  /**
   * Starts workerd and returns after its first response.
   *
   * @param core the only one that the process may use.
   */
  static async start({ config }: Pick<Prepared, "config">, core?: string): Promise<Server> {
    const serve = ["serve", "--control-fd=3", config];
    const [command, args] =
      core === undefined ? [WORKERD, serve] : ["taskset", ["--cpu-list", core, WORKERD, ...serve]];
    // The log of the Worker is discarded.
    const child = spawn(command, args, { stdio: ["ignore", "ignore", "inherit", "pipe"] });
    try {
      const server = new Server(await listeningPort(child), child);
      await send(server.port, LIST);
      return server;
    } catch (error) {
      await end(child);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await end(this.#process);
  }

  /** CPU time of the process, user and system, over all its threads: the first field of schedstat is nanoseconds on the CPU. */
  cpuMicroseconds(): number {
    const tasks = `/proc/${this.#process.pid}/task`;
    const nanoseconds = readdirSync(tasks).map((task) =>
      Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]),
    );
    return nanoseconds.reduce((sum, value) => sum + value, 0) / 1_000;
  }
}

/** The port that workerd chose. It writes a line of JSON to its control descriptor for each socket. */
async function listeningPort(child: ChildProcess): Promise<number> {
  for await (const line of createInterface(child.stdio[3] as Readable)) {
    const { event, port }: { event: string; port: number } = JSON.parse(line);
    if (event === "listen") return port;
  }
  throw new Error("workerd ended before it listened");
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}
