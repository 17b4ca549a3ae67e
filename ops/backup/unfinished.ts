import { closeSync, existsSync, mkdirSync, openSync, rmSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { PRIVATE_FILE, PRIVATE_FOLDER } from "./manifest.ts";
import { databaseOf } from "./connection.ts";
import { type Line, pagesOf, selectValues, type Table } from "./tables.ts";

/** Takes the lock, which stays with this process until it ends: two backups in one folder would mix their rows. */
const STATE = `PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE;
  CREATE TABLE IF NOT EXISTS copy_state (id INTEGER PRIMARY KEY CHECK (id = 1), value TEXT); COMMIT`;
/** Milliseconds for which a backup waits for this lock while another program reads the file. */
const LOCKED_FOR = 2_000;
/** The code of SQLite for a file that another program has locked. */
const BUSY = 5;
/** The codes of SQLite for a file that is damaged, and for one that is no database. */
const DAMAGED = [11, 26];

const pathOf = (folder: string) => join(folder, "unfinished");
/** Whether a folder has a backup that is not finished. A repetition goes on with it. */
export const isUnfinished = (folder: string) => existsSync(pathOf(folder));
export const removeUnfinished = (folder: string) => rmSync(pathOf(folder), { recursive: true, force: true });

/** A backup until it is finished: a database of SQLite in its folder, with the tables of the copy, and a state that its user knows. */
export class Unfinished {
  readonly path: string;
  readonly #folder: string;
  #sqlite: DatabaseSync;

  constructor(folder: string) {
    this.#folder = folder;
    this.path = pathOf(folder);
    this.#sqlite = this.#open();
  }

  #open(): DatabaseSync {
    mkdirSync(this.path, { recursive: true, mode: PRIVATE_FOLDER });
    const file = join(this.path, "copy.sqlite");
    closeSync(openSync(file, "a", PRIVATE_FILE));
    return new DatabaseSync(file, { timeout: LOCKED_FOR });
  }

  [Symbol.dispose](): void {
    this.#sqlite.close();
  }

  /** Throws all of it away, and begins anew. */
  clear(): void {
    this.#sqlite.close();
    removeUnfinished(this.#folder);
    this.#sqlite = this.#open();
  }

  /** @throws Error when another backup writes here. */
  read<State>(): State | undefined {
    try {
      this.#sqlite.exec(STATE);
    } catch (error) {
      if (codeOf(error) !== BUSY) throw error;
      throw new Error(`Another backup uses ${this.path}. Let it end, or name another folder.`, { cause: error });
    }
    const row = this.#sqlite.prepare("SELECT value FROM copy_state").get();
    return row === undefined ? undefined : (JSON.parse(String(row["value"])) as State);
  }

  /** Takes some steps, and keeps the state that follows. All of it is there or nothing, whenever the process ends. */
  save(state: object, steps: () => void): void {
    this.#sqlite.exec("BEGIN");
    try {
      steps();
      this.#sqlite.prepare("REPLACE INTO copy_state VALUES (1, ?)").run(JSON.stringify(state));
      this.#sqlite.exec("COMMIT");
    } catch (error) {
      if (this.#sqlite.isTransaction) this.#sqlite.exec("ROLLBACK");
      throw error;
    }
  }

  /** Creates the tables without their rules, because their pages are of different moments. */
  create(tables: readonly Table[]): void {
    for (const { name, columns } of tables) {
      const [id = "", ...others] = columns.map((column) => `"${column}"`);
      this.#sqlite.exec(`CREATE TABLE IF NOT EXISTS "${name}" (${[`${id} INTEGER PRIMARY KEY`, ...others].join()})`);
    }
  }

  /** Adds rows. One that was there is replaced: the last one that was read is the newest. */
  put(table: Table, lines: readonly Line[]): void {
    const rows = `[${lines.map(({ line }) => line).join()}]`;
    this.#sqlite.prepare(`REPLACE INTO "${table.name}" ${selectValues(table)}`).run(rows);
  }

  remove(table: string, condition: string): void {
    this.#sqlite.exec(`DELETE FROM "${table}" WHERE ${condition}`);
  }

  pagesOf(table: Table): AsyncIterable<Line[]> {
    return pagesOf(databaseOf(this.#sqlite, this.path), table);
  }
}

const codeOf = (error: unknown) => (error instanceof Error && "errcode" in error ? Number(error.errcode) : 0);

/** Whether a failure is that of an unfinished backup that nobody can read. */
export const isDamage = (error: unknown) => DAMAGED.includes(codeOf(error));
