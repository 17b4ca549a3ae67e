import { once } from "node:events";
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
import { useLocalState } from "../../scripts/local-state.ts";
import { applyMigrations } from "../../scripts/migrations.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { startWrangler } from "../../scripts/wrangler.ts";
import { type Environment, generateKey } from "../../src/auth/key-format.ts";

// Without this, a signal would end this process before it ends its services.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

/** A service that can be killed, and started again on its storage. It ends with this process. */
export class FragileService {
  /** Its present address. The same object through all restarts, for a proxy in front of it. */
  readonly url = new URL("http://127.0.0.1");
  readonly keys: string[];
  kills = 0;
  readonly #folder: string;
  readonly #bundle: string;
  readonly #environment: Environment;
  /** The group of its processes. Undefined while it is stopped. */
  #group: number | undefined;
  /** Its output closes after the last process of the group ends. */
  #ended: Promise<unknown> | undefined;
  readonly #sendKill = () => {
    try {
      if (this.#group !== undefined) process.kill(-this.#group, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  };

  private constructor(folder: string, bundle: string, environment: Environment, keys: string[]) {
    this.#folder = folder;
    this.#bundle = bundle;
    this.#environment = environment;
    this.keys = keys;
    process.once("exit", this.#sendKill);
  }

  /**
   * @param keys how many keys it has.
   * @param environment what it takes itself for. Only `local` delivers to receivers on this machine.
   */
  static async start(bundle: string, keys: number, environment: Environment = "production"): Promise<FragileService> {
    const folder = mkdtempSync(join(tmpdir(), "petstore-fragile-"));
    const granted = await useLocalState(join(folder, "state"), "production", async (bindings) => {
      await applyMigrations(bindings.DB, join(import.meta.dirname, "../../drizzle"));
      const worker = { getEnv: async () => bindings };
      return Promise.all(Array.from({ length: keys }, () => grantProductionKey(worker, generateKey(environment))));
    });
    const service = new FragileService(folder, join(bundle, "index.js"), environment, granted);
    await service.start();
    return service;
  }

  /** Starts `wrangler dev` in a new process group, so that one signal reaches workerd too. */
  async start(): Promise<void> {
    const address = ["--ip", "127.0.0.1", "--port", "0", "--inspector-port", "0"];
    const variables = ["--var", "LOG_SUCCESS_SHARE:0", `ENVIRONMENT:${this.#environment}`];
    const settings = ["--no-bundle", "--env=production", ...variables, ...address];
    const child = startWrangler(["dev", this.#bundle, ...settings, "--persist-to", this.#state], {
      stdio: ["ignore", "pipe", "ignore"],
      detached: true,
    });
    if (child.stdout === null || child.pid === undefined) throw new Error("wrangler dev did not start");
    this.#group = child.pid;
    this.#ended = once(child, "close");
    const lines = createInterface({ input: child.stdout });
    this.url.href = await new Promise<string>((resolve, reject) => {
      lines.on("line", (line) => {
        const [, ready] = /Ready on (\S+)/.exec(line) ?? [];
        if (ready !== undefined) resolve(ready);
      });
      lines.on("close", () => reject(new Error("wrangler dev ended before it was ready")));
    });
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Sends SIGKILL. Returns when all of its processes have ended. */
  async kill(): Promise<void> {
    this.#sendKill();
    await this.#ended;
    this.#group = undefined;
    this.kills++;
  }

  /** The rows of a table in the file of the database, with exact integers. The service is stopped. */
  read(sql: string): Record<string, unknown>[] {
    return readFile(this.#database, sql);
  }

  /** Runs a statement on the file of the database, while the service is stopped. */
  write(sql: string): void {
    using database = new DatabaseSync(this.#database);
    database.exec(sql);
  }

  get #database(): string {
    const [file] = globSync(join(this.#state, "v3/d1/miniflare-D1DatabaseObject/*[0-9a-f].sqlite"));
    if (file === undefined) throw new Error("There is no database.");
    return file;
  }

  /** The kinds of its storage (`d1`, `kv`, `do`) with a file that holds a text. */
  storesWith(text: string): string[] {
    const root = join(this.#state, "v3");
    const isFound = (file: string) => statSync(file).isFile() && readFileSync(file).includes(text);
    return readdirSync(root).filter((kind) => globSync(join(root, kind, "**/*")).some(isFound));
  }

  get #state(): string {
    return join(this.#folder, "state");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
    process.off("exit", this.#sendKill);
    rmSync(this.#folder, { recursive: true });
  }
}

/** The rows of a query in a SQLite file, with exact integers. */
export function readFile(file: string, sql: string): Record<string, unknown>[] {
  using database = new DatabaseSync(file);
  const statement = database.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all();
}
