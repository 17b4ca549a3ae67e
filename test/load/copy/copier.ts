import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { newProject } from "../../built/project.ts";

/** Milliseconds between two requests at the end of the feed. */
const IDLE = 200;

/** The program of examples/ that keeps a copy. Killed or not, it goes on in its file. */
export class Copier {
  readonly file: string;
  readonly #project: string;
  readonly #env: NodeJS.ProcessEnv;
  #child: ChildProcess | undefined;
  /** What the program wrote to standard error. */
  errors = "";
  /** How often somebody killed it. */
  kills = 0;
  /** How often it ended by itself. */
  ends = 0;

  constructor(base: URL, key: string) {
    this.#project = newProject();
    copyFileSync("examples/copy.mjs", join(this.#project, "copy.mjs"));
    this.file = join(this.#project, "store.sqlite");
    this.#env = { ...process.env, BASE: new URL("/v1", base).href, KEY: key, FILE: this.file, IDLE: String(IDLE) };
  }

  /** Where the copy is in the feed. Undefined before it has everything. */
  get cursor(): unknown {
    if (!existsSync(this.file)) return undefined;
    using database = new DatabaseSync(this.file, { readOnly: true });
    try {
      return database.prepare("SELECT cursor FROM feed").get()?.["cursor"];
    } catch {
      return undefined; // There is no table yet.
    }
  }

  /** Starts the program, and starts it again whenever it ends by itself. */
  start(): void {
    const child = spawn(process.execPath, [join(this.#project, "copy.mjs")], { env: this.#env });
    child.stderr.on("data", (text: Buffer) => (this.errors += String(text)));
    child.once("exit", () => {
      if (this.#child !== child) return;
      this.ends++;
      this.start();
    });
    this.#child = child;
  }

  /** Sends SIGKILL. Returns when the process has ended. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#child = undefined;
    this.kills++;
    child.kill("SIGKILL");
    await once(child, "close");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    rmSync(this.#project, { recursive: true });
  }
}
