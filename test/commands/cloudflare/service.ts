import { afterAll } from "vitest";
import { keyRecordName } from "../../../src/auth/key-record.ts";
import { type ProductionService, startProductionService } from "../../../scripts/production-service.ts";
import type { Databases } from "./databases.ts";
import type { Namespace } from "./namespaces.ts";

let service: Promise<ProductionService> | undefined;
/** Ends with the last request. All of a test file share the service, each request with rows of its own. */
let free: Promise<unknown> = Promise.resolve();
afterAll(async () => (await service)?.harness.close());

/** Starts the service, so that no command waits for it. */
export const startService = (): Promise<unknown> => (service ??= startProductionService());

interface Question {
  path: string;
  method?: string | undefined;
  headers?: Record<string, string>;
  body?: string | undefined;
  /** The tables that the request reads and writes. */
  tables: string[];
  /** Has the record of the key in `headers`. A key of the service itself unless given. */
  keys?: Namespace;
}

/** Asks the real service, on the present rows of a fake database of production. What the service writes is in that database afterwards. */
export function askService(databases: Databases, name: string, question: Question): Promise<Response> {
  const response = free.then(() => ask(databases, name, question));
  free = response.catch(() => {});
  return response;
}

async function ask(
  databases: Databases,
  name: string,
  { path, method = "GET", body, tables, keys, ...more }: Question,
) {
  const { worker, key, url } = await (service ??= startProductionService());
  const { DB, API_KEYS } = await worker.getEnv();
  const headers = { authorization: `Bearer ${key}`, ...more.headers };
  const entry = await keyRecordName(headers.authorization.replace("Bearer ", ""));
  if (keys !== undefined) await API_KEYS.put(entry, keys.entries.get(entry)?.value ?? "");
  const select = async (sql: string) => (await DB.prepare(sql).all()).results;
  const query = async (sql: string) => databases.query(name, sql);
  const statements = await Promise.all(tables.map((table) => copyOf(table, query)));
  await DB.batch(statements.flat().map((statement) => DB.prepare(statement)));
  const response = await fetch(new URL(path, url), { method, headers, ...(body && { body }) });
  if (method !== "GET")
    for (const table of tables) for (const statement of await copyOf(table, select)) databases.query(name, statement);
  return new Response(response.body, response);
}

/** The statements that give a table the rows that another one has. */
async function copyOf(table: string, select: (sql: string) => Promise<Record<string, unknown>[]>): Promise<string[]> {
  const columns = (await select(`SELECT name FROM pragma_table_info('${table}')`)).map(
    (row) => `"${String(row["name"])}"`,
  );
  const rows = await select(
    `SELECT ${columns.map((name) => `quote(${name})`).join(" || ', ' || ")} AS "values" FROM ${table}`,
  );
  const into = `INSERT INTO ${table} (${columns.join()}) VALUES`;
  return [`DELETE FROM ${table}`, ...rows.map((row) => `${into} (${String(row["values"])})`)];
}
