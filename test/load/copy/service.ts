import { cpSync, globSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { useLocalState } from "../../../scripts/local-state.ts";
import { applyMigrations } from "../../../scripts/migrations.ts";
import { grantProductionKey } from "../../../scripts/production-service.ts";
import { type KillableService, startKillableService } from "../killable-service.ts";

/** Ids that a `number` would round. These rows are older than the feed. */
export const OLD_ROWS = [
  "INSERT INTO pets (id, name, category_id, status) VALUES (9007199254740993, 'Old', 9223372036854775807, 'sold')",
  "INSERT INTO categories (id, name) VALUES (9007199254740993, 'Old')",
  "INSERT INTO orders (id, pet_id, status, created_at, ship_date) VALUES (9007199254740993, 9007199254740993, 'shipped', '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z')",
];

/** A service that can be killed, started again on its storage, and set back. */
export class FragileService {
  /** Its present address. The same object through all restarts, for a proxy in front of it. */
  readonly url = new URL("http://127.0.0.1");
  readonly keys: string[];
  kills = 0;
  readonly #folder: string;
  readonly #bundle: string;
  #running: KillableService | undefined;

  private constructor(folder: string, bundle: string, keys: string[]) {
    this.#folder = folder;
    this.#bundle = bundle;
    this.keys = keys;
  }

  /**
   * @param keys how many keys of production it has.
   * @param rows the statements that fill its storage.
   */
  static async start(bundle: string, keys: number, rows: string[] = []): Promise<FragileService> {
    const folder = mkdtempSync(join(tmpdir(), "petstore-copy-"));
    const granted = await useLocalState(join(folder, "state"), "production", async (bindings) => {
      await applyMigrations(bindings.DB, join(import.meta.dirname, "../../../drizzle"));
      for (const row of rows) await bindings.DB.prepare(row).run();
      const worker = { getEnv: async () => bindings };
      return Promise.all(Array.from({ length: keys }, () => grantProductionKey(worker)));
    });
    const service = new FragileService(folder, join(bundle, "index.js"), granted);
    await service.start();
    return service;
  }

  async start(): Promise<void> {
    this.#running = await startKillableService(
      this.#state,
      this.#bundle,
      "--no-bundle",
      "--env=production",
      "--var",
      "LOG_SUCCESS_SHARE:0",
    );
    this.url.href = this.#running.url;
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  async kill(): Promise<void> {
    await this.#running?.kill();
    this.#running = undefined;
    this.kills++;
  }

  /** The resident memory of its workerd in MiB. */
  memory(): number {
    return this.#running?.memory() ?? 0;
  }

  /** Keeps the storage of a service that is stopped. */
  save(): void {
    cpSync(this.#state, this.#saved, { recursive: true });
  }

  /** Puts back the storage that was kept, while the service is stopped. */
  restore(): void {
    rmSync(this.#state, { recursive: true });
    cpSync(this.#saved, this.#state, { recursive: true });
  }

  /** The rows of a table in the file of the database, with exact integers. The service is stopped. */
  read(sql: string): Record<string, unknown>[] {
    const [file] = globSync(join(this.#state, "v3/d1/miniflare-D1DatabaseObject/*[0-9a-f].sqlite"));
    if (file === undefined) throw new Error("There is no database.");
    return readFile(file, sql);
  }

  get #state(): string {
    return join(this.#folder, "state");
  }

  get #saved(): string {
    return join(this.#folder, "saved");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
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
