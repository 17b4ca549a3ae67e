import { type ProductionService, startProductionService } from "../../../scripts/production-service.ts";
import type { Databases } from "../cloudflare/databases.ts";

/** A program that keeps a copy of the animals of a fake database. The service itself runs, on the present rows of that database. */
export class Follower {
  /** The animals of the copy, as the service returned them. */
  copy: string[] = [];
  #cursor = "latest";
  readonly #databases: Databases;
  readonly #name: string;
  readonly #service: ProductionService;

  private constructor(databases: Databases, name: string, service: ProductionService) {
    this.#databases = databases;
    this.#name = name;
    this.#service = service;
  }

  static async start(databases: Databases, name: string): Promise<Follower> {
    return new Follower(databases, name, await startProductionService());
  }

  stop(): Promise<void> {
    return this.#service.harness.close();
  }

  /** Takes the end of the feed, then a copy. */
  async takeCopy(): Promise<void> {
    this.#cursor = "latest";
    await this.goOn();
    const response = await this.#get("pets");
    const animals = await response.text();
    this.copy = animals.match(/\{[^}]+\}/g) ?? [];
  }

  /** Reads the feed from its place on. Returns the status, and the code of an error. */
  async goOn(): Promise<{ status: number; code?: string }> {
    const response = await this.#get(`events?cursor=${this.#cursor}`);
    const { cursor, code } = (await response.json()) as { cursor?: string; code?: string };
    this.#cursor = cursor ?? this.#cursor;
    return { status: response.status, ...(code !== undefined && { code }) };
  }

  async #get(path: string): Promise<Response> {
    const { DB } = await this.#service.worker.getEnv();
    const statements = ["pets", "events"].flatMap((table) => [`DELETE FROM ${table}`, ...this.#insertsOf(table)]);
    await DB.batch(statements.map((statement) => DB.prepare(statement)));
    const headers = { Authorization: `Bearer ${this.#service.key}` };
    return fetch(new URL(`/v1/${path}`, this.#service.url), { headers });
  }

  #insertsOf(table: string): string[] {
    const columns = this.#databases.query(this.#name, `SELECT name FROM pragma_table_info('${table}')`);
    const values = columns.map(({ name }) => `quote("${String(name)}")`).join(" || ', ' || ");
    const rows = this.#databases.query(this.#name, `SELECT ${values} AS "values" FROM ${table}`);
    const names = columns.map(({ name }) => `"${String(name)}"`).join();
    return rows.map((row) => `INSERT INTO ${table} (${names}) VALUES (${String(row["values"])})`);
  }
}
