import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { databaseId } from "./ids.ts";
import { found, Refusal, type Route, routes } from "./route.ts";

export interface Database {
  uuid: string;
  name: string;
  created_at: string;
  read_replication: { mode: string };
  primary_location_hint?: string;
  jurisdiction?: string;
}

/** A fake of D1. Each database is an SQLite file, and a bookmark is a copy of it. */
export class Databases {
  readonly all = new Map<string, Database>();
  /** When set, D1 fails with it: for the API and for the service. */
  failure: Refusal | undefined;
  /** What happens at a query of a command. A test may change the database before or after it, or throw a Refusal. */
  atQuery: (sql: string, run: () => unknown) => unknown = (_, run) => run();
  readonly #folder = mkdtempSync(join(tmpdir(), "petstore-fake-d1-"));
  /** The state of each bookmark, the oldest first. */
  readonly #snapshots: { bookmark: string; uuid: string; at: number }[] = [];

  close(): void {
    rmSync(this.#folder, { recursive: true });
  }

  named(name: string): Database | undefined {
    return [...this.all.values()].find((database) => database.name === name);
  }

  /** Creates an empty database. */
  add(name: string, readReplication: string, place: Partial<Database> = {}): Database {
    const database = {
      ...place,
      uuid: place.uuid ?? databaseId(name),
      name,
      created_at: new Date().toISOString(),
      read_replication: { mode: readReplication },
    };
    this.all.set(database.uuid, database);
    rmSync(this.#file(database.uuid), { force: true });
    return database;
  }

  /** Runs statements against a database, as /query does. */
  query(name: string, sql: string): Record<string, unknown>[] {
    return this.#run(this.find(name), sql).flatMap(({ results }) => results);
  }

  /** Gives a test the SQLite of a database, while no query runs. */
  use<Result>(idOrName: string, use: (sqlite: DatabaseSync) => Result): Result {
    return this.#open(this.find(idOrName).uuid, use);
  }

  /** @throws Refusal when no database has this id or name. */
  find(idOrName = ""): Database {
    const database = this.all.get(idOrName) ?? this.named(idOrName);
    return found(database, 404, 7404, `The database ${idOrName} could not be found`);
  }

  /** Saves the current state of a database. Returns its bookmark. */
  snapshot(idOrName: string): string {
    const { uuid } = this.find(idOrName);
    const count = String(this.#snapshots.length + 1).padStart(8, "0");
    const bookmark = `${count}-00000000-00000000-${uuid.replaceAll("-", "")}`;
    this.#open(uuid, () => {});
    copyFileSync(this.#file(uuid), this.#file(bookmark));
    this.#snapshots.push({ bookmark, uuid, at: Date.now() });
    return bookmark;
  }

  /** Gives a database the state of a bookmark, as Time Travel does. */
  restore(idOrName: string, bookmark: string): void {
    copyFileSync(this.#file(bookmark), this.#file(this.find(idOrName).uuid));
  }

  lastBookmark(idOrName: string): string {
    const { uuid } = this.find(idOrName);
    return this.#snapshots.findLast((snapshot) => snapshot.uuid === uuid)?.bookmark ?? "";
  }

  routes(): Route[] {
    return this.#routes().map((route) => ({
      ...route,
      answer: (call) => {
        if (this.failure !== undefined) throw this.failure;
        return route.answer(call);
      },
    }));
  }

  #routes(): Route[] {
    return routes({
      "GET /d1/database": ({ query }) =>
        [...this.all.values()].filter(({ name }) => name.includes(query.get("name") ?? "")),
      "POST /d1/database": async ({ body }) => {
        const { name, ...place } = (await body.json()) as Database;
        if (this.named(name) !== undefined) throw new Refusal(400, 7502, `${name} already exists`);
        return this.add(name, "disabled", { ...place, uuid: crypto.randomUUID() });
      },
      "GET /d1/database/:database": ({ params }) => {
        const database = this.find(params["database"]);
        const size = this.#open(database.uuid, (sqlite) => statSync(sqlite.location() ?? "").size);
        return { file_size: size, ...database };
      },
      "PUT /d1/database/:database": async ({ params, body }) =>
        Object.assign(this.find(params["database"]), await body.json()),
      "DELETE /d1/database/:database": ({ params }) => {
        const { uuid } = this.find(params["database"]);
        this.all.delete(uuid);
        rmSync(this.#file(uuid), { force: true });
        return null;
      },
      "POST /d1/database/:database/query": async ({ params, body }) => {
        const { sql, params: values } = (await body.json()) as { sql: string; params?: string[] };
        return this.atQuery(sql, () => this.#run(this.find(params["database"]), sql, values));
      },
      "GET /d1/database/:database/time_travel/bookmark": ({ params, query }) => {
        const { uuid } = this.find(params["database"]);
        const time = Date.parse(query.get("timestamp") ?? "");
        const past = this.#snapshots.findLast((snapshot) => snapshot.uuid === uuid && snapshot.at <= time);
        return { bookmark: past?.bookmark ?? this.snapshot(uuid) };
      },
      "POST /d1/database/:database/time_travel/restore": ({ params, query }) => {
        const { uuid } = this.find(params["database"]);
        const bookmark = query.get("bookmark") ?? "";
        const before = this.snapshot(uuid);
        this.restore(uuid, bookmark);
        return { bookmark, previous_bookmark: before, message: "Restored" };
      },
    });
  }

  #file(name: string): string {
    return join(this.#folder, `${name}.sqlite`);
  }

  #open<Result>(uuid: string, use: (sqlite: DatabaseSync) => Result): Result {
    const sqlite = new DatabaseSync(this.#file(uuid));
    try {
      return use(sqlite);
    } finally {
      sqlite.close();
    }
  }

  /** Runs all statements or none. Values are for a single statement. */
  #run(
    { uuid }: Database,
    sql: string,
    values: string[] = [],
  ): { results: Record<string, unknown>[]; success: true; meta: object }[] {
    return this.#open(uuid, (sqlite) => {
      sqlite.exec("BEGIN");
      try {
        const done = [];
        for (let rest = sql.trim(); rest !== "";) {
          const statement = sqlite.prepare(rest);
          done.push({ results: statement.all(...values), success: true as const, meta: { duration: 0 } });
          // SQLite reads one statement, and says how far it went.
          rest = rest.slice(statement.sourceSQL.length).trim();
        }
        sqlite.exec("COMMIT");
        return done;
      } catch (error) {
        sqlite.exec("ROLLBACK");
        throw new Refusal(400, 7500, error instanceof Error ? error.message : String(error));
      }
    });
  }
}
