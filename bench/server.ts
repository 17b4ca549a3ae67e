import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { type Candidate, COMPATIBILITY_DATE } from "./candidates.ts";
import { connections, KEY_NAME, KEY_RECORD, LIST, send } from "./requests.ts";

export const WORKERD = join(import.meta.dirname, "../node_modules/workerd/bin/workerd");

/** A candidate in a workerd of its own, with nothing in front of it and bindings stubbed in JavaScript (stub.js). */
export class Server {
  readonly port: number;
  readonly #process: ChildProcess;

  private constructor(port: number, process: ChildProcess) {
    this.port = port;
    this.#process = process;
  }

  /** Starts workerd, and returns when it gave its first answer. `folder` takes its files. */
  static async start(candidate: Candidate, folder: string): Promise<Server> {
    const port = await freePort();
    const config = writeConfig(candidate, folder);
    const child = spawn(WORKERD, ["serve", config, `--socket-addr=http=127.0.0.1:${port}`], {
      stdio: ["ignore", "ignore", "inherit"],
    });
    const server = new Server(port, child);
    const deadline = performance.now() + 20_000;
    for (;;) {
      try {
        await send(connections(1), port, LIST);
        return server;
      } catch (error) {
        if (performance.now() < deadline && child.exitCode === null) continue;
        await server[Symbol.asyncDispose]();
        throw error;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null) return;
    const ended = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await ended;
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

/** Returns the path of the configuration. */
function writeConfig({ name, script }: Candidate, folder: string): string {
  const directory = join(folder, name.replaceAll(" ", "-"));
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "worker.js"), script);
  const stubs = readFileSync(join(import.meta.dirname, "stub.js"), "utf8")
    .replace("KEY_NAME_HERE", KEY_NAME)
    .replace('"KEY_RECORD_HERE"', JSON.stringify(KEY_RECORD));
  writeFileSync(join(directory, "stub.js"), stubs);
  const config = join(directory, "config.capnp");
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main)],
  sockets = [(name = "http", http = (), service = "main")]
);
const main :Workerd.Worker = (
  modules = [(name = "stub.js", esModule = embed "stub.js"), (name = "worker.js", esModule = embed "worker.js")],
  compatibilityDate = "${COMPATIBILITY_DATE}"
);
`,
  );
  return config;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}
