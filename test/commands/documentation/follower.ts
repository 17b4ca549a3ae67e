import { afterAll } from "vitest";
import { type ProductionService, startProductionService } from "../../../scripts/production-service.ts";
import type { Databases } from "../cloudflare/databases.ts";

let service: Promise<ProductionService> | undefined;
/** Ends with the last request. The followers of a test file share the service, each request with rows of its own. */
let free: Promise<unknown> = Promise.resolve();
afterAll(async () => (await service)?.harness.close());

/** A program that keeps a copy of the animals of a fake database. The service itself runs, on the present rows of that database. */
export class Follower {
  /** The animals of the copy, as the service returned them. */
  copy: string[] = [];
  #cursor = "latest";
  readonly #databases: Databases;
  readonly #name: string;

  constructor(databases: Databases, name: string) {
    this.#databases = databases;
    this.#name = name;
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

  #get(path: string): Promise<Response> {
    const response = free.then(() => this.#getAlone(path));
    free = response.catch(() => {});
    return response;
  }

  async #getAlone(path: string): Promise<Response> {
    const { worker, key, url } = await (service ??= startProductionService());
    const { DB } = await worker.getEnv();
    const statements = ["pets", "events"].flatMap((table) => [`DELETE FROM ${table}`, ...this.#insertsOf(table)]);
    await DB.batch(statements.map((statement) => DB.prepare(statement)));
    return fetch(new URL(`/v1/${path}`, url), { headers: { Authorization: `Bearer ${key}` } });
  }

  #insertsOf(table: string): string[] {
    const columns = this.#databases.query(this.#name, `SELECT name FROM pragma_table_info('${table}')`);
    const values = columns.map(({ name }) => `quote("${String(name)}")`).join(" || ', ' || ");
    const rows = this.#databases.query(this.#name, `SELECT ${values} AS "values" FROM ${table}`);
    const names = columns.map(({ name }) => `"${String(name)}"`).join();
    return rows.map((row) => `INSERT INTO ${table} (${names}) VALUES (${String(row["values"])})`);
  }
}
