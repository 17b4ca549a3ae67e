import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Terminal } from "../terminal.ts";
import { readLines, writeTable } from "./archive.ts";
import { migrationFiles } from "./checks.ts";
import type { Database, Row } from "./connection.ts";
import { MANIFEST, type ManifestContents, manifestText, readManifest, sha256, writeWhole } from "./manifest.ts";
import { readProgress } from "./progress.ts";
import {
  BEFORE_ALL,
  type Line,
  readMigrations,
  readTables,
  SELECT_MIGRATIONS,
  SELECT_TIME,
  selectLines,
  selectMaximum,
  selectPage,
  selectRow,
  type Table,
  toLines,
} from "./tables.ts";
import { isDamage, isUnfinished, removeUnfinished, Unfinished } from "./unfinished.ts";

// A copy of a database that others change meanwhile. Its pages are of different moments. So the copy then follows the feed of events from
// the place that was noted before the first page, and reads each changed row again. The last step reads the end of the feed, the rows that
// it names, the idempotency keys since, the webhooks, the counters and the number of rows in one transaction: the backup is the truth of
// that moment.

/** Times that a backup starts anew by itself, because the history of the database is another one. */
const STARTS = 3;
/** Pages between two lines of progress. */
const PROGRESS = 100;

const EVENTS = "events";
const KEYS = "idempotency_keys";
/** Its changes leave no event, and its few rows are less than a page. The last transaction reads it whole. */
const WEBHOOKS = "webhooks";
/** Tables whose oldest rows a job removes. */
const AGING = [EVENTS, KEYS];

interface Place {
  id: string;
  tag: string;
}
const atPlace = ({ id, tag }: Place) => `SELECT 1 AS one FROM ${EVENTS} WHERE id = ${id} AND tag = ${tag}`;
// An unqualified id would be the text of the result, which sorts 9 after 10.
const NEWEST = `SELECT CAST(id AS TEXT) AS id, CAST(tag AS TEXT) AS tag FROM ${EVENTS} ORDER BY ${EVENTS}.id DESC LIMIT 1`;

/** What the last transaction told beside rows. */
interface End {
  time: string;
  counters: { [table: string]: string };
  rows: { [table: string]: number };
}

/** How far a copy is. */
interface State {
  database: string;
  tables: Table[];
  migrations: string[];
  /** Up to where the copy followed the feed. */
  place: Place;
  /** The newest event that a transaction saw. While the feed has it, the history is the same. */
  newest: Place;
  /** The last rows of the pages. */
  last: { [table: string]: Line };
  end?: End;
}

/** What was copied is of no use. */
class Useless extends Error {}

/** The history of the database is not the one that the copy began with, or has lost its place in it. */
class OtherHistory extends Useless {}

/** Whether a folder has a whole backup. */
export const isFinished = (folder: string) => existsSync(join(folder, MANIFEST)) && !isUnfinished(folder);

/**
 * Copies a database into a folder. After an interruption, a repetition goes on where the last attempt ended.
 *
 * @throws Error when the folder has a backup already, and when the copy cannot be the truth of one moment.
 */
export async function copyDatabase(database: Database, folder: string, terminal: Terminal): Promise<ManifestContents> {
  if (existsSync(join(folder, MANIFEST))) {
    if (isFinished(folder)) throw new Error(`${folder} has a finished backup. Name another folder.`);
    const { manifest } = readManifest(folder);
    if (manifest.database !== database.name) throw new Error(`${folder} has a backup of ${manifest.database}.`);
    // Only the removal was interrupted.
    removeUnfinished(folder);
    return manifest;
  }
  using unfinished = new Unfinished(folder);
  for (let start = 1; ; start++) {
    try {
      const copy = new Copy(database, unfinished, terminal, await begin(database, unfinished, terminal));
      const manifest = await copy.write(folder, await copy.readAll());
      removeUnfinished(folder);
      return manifest;
    } catch (error) {
      if (!(error instanceof Useless) && !isDamage(error)) throw error;
      unfinished.clear();
      if (isDamage(error))
        throw new Error(`${unfinished.path} was damaged. Run the backup again: it starts anew.`, { cause: error });
      if (!(error instanceof OtherHistory)) throw error;
      const what = `${database.name} was restored or migrated, or removed events that the backup needs`;
      if (start === STARTS) throw new Error(`${what}, ${STARTS} times. Try again later.`, { cause: error });
      terminal.say(`${what}. The backup starts anew.`);
    }
  }
}

class Copy {
  readonly #database: Database;
  readonly #copy: Unfinished;
  readonly #terminal: Terminal;
  readonly #state: State;

  constructor(database: Database, copy: Unfinished, terminal: Terminal, state: State) {
    this.#database = database;
    this.#copy = copy;
    this.#terminal = terminal;
    this.#state = state;
  }

  async readAll(): Promise<End> {
    const { end, tables } = this.#state;
    if (end !== undefined) return end;
    // A place that is gone is noticed before more pages. One that is there moves on, so that it stays there until the next night.
    await this.#follow();
    for (const table of tables) if (table.name !== WEBHOOKS) await this.#readPages(table);
    for (;;) {
      await this.#follow();
      await this.#readPages(this.#table(KEYS));
      const ended = await this.#readEnd();
      if (ended !== undefined) return ended;
    }
  }

  /** Those whose every change leaves an event with the id of the row. */
  get #resources(): Table[] {
    return this.#state.tables.filter(({ name }) => ![EVENTS, KEYS, WEBHOOKS].includes(name));
  }

  #table(name: string): Table {
    const table = this.#state.tables.find((known) => known.name === name);
    if (table === undefined) throw new Error(`There is no table ${name}.`);
    return table;
  }

  /** Runs statements in one transaction, if the history of the database is still the one that the copy saw last. */
  async #run(statements: readonly string[]): Promise<Row[][]> {
    const [here, newest, ...results] = await this.#database.run([atPlace(this.#state.newest), NEWEST, ...statements]);
    if (here?.length !== 1) throw new OtherHistory();
    this.#state.newest = placeOf(newest);
    return results;
  }

  /** Reads the pages of a table that earlier ones do not have, up to the largest id of now: more may be created than a page has. */
  async #readPages(table: Table): Promise<void> {
    let end: bigint | undefined;
    for (let count = 1; ; count++) {
      const last = this.#state.last[table.name];
      const [maximum, same, rows] = await this.#run([
        selectMaximum(table),
        selectRow(table, last?.id),
        selectPage(table, last?.id ?? BEFORE_ALL),
      ]);
      if (this.#haveOtherKeys(table, same)) {
        end = undefined;
        continue;
      }
      const id = this.#addPage(table, toLines(rows));
      if (id === undefined) return;
      end ??= BigInt(String(maximum?.[0]?.["id"]));
      if (BigInt(id) >= end) return;
      if (count % PROGRESS === 0) this.#terminal.say(`${table.name}: up to id ${id}`);
    }
  }

  /** Returns the last id of the page. */
  #addPage(table: Table, lines: readonly Line[]): string | undefined {
    const last = lines.at(-1);
    if (last === undefined) return undefined;
    this.#state.last[table.name] = last;
    this.#copy.save(this.#state, () => this.#copy.put(table, lines));
    return last.id;
  }

  /** Whether new keys took the ids of old ones, because every key was removed. Their pages then begin anew. */
  #haveOtherKeys({ name }: Table, same: Row[] | undefined): boolean {
    const last = this.#state.last[name];
    if (name !== KEYS || last === undefined || toLines(same)[0]?.line === last.line) return false;
    delete this.#state.last[name];
    this.#copy.save(this.#state, () => this.#copy.remove(KEYS, "true"));
    return true;
  }

  async #follow(): Promise<void> {
    while (!(await this.#readChanges()).isLast);
  }

  /** Reads a page of the feed, and the rows of all resources that have an id in it. */
  async #readChanges(more: readonly string[] = []): Promise<{ isLast: boolean; results: Row[][] }> {
    const { place } = this.#state;
    const page = selectPage(this.#table(EVENTS), place.id);
    const named = `SELECT line ->> '$.data' ->> '$.id' FROM (${page})`;
    const resources = this.#resources;
    const [here, found, ...results] = await this.#run([
      atPlace(place),
      page,
      ...resources.map((table) => `${selectLines(table)} WHERE id IN (${named})`),
      ...more,
    ]);
    if (here?.length !== 1) throw new OtherHistory();
    const events = toLines(found);
    const last = events.at(-1);
    if (last !== undefined) this.#state.place = placeOfLine(last);
    const ids = events.map(idInEvent);
    this.#copy.save(this.#state, () => {
      this.#copy.put(this.#table(EVENTS), events);
      for (const [index, table] of resources.entries()) {
        this.#copy.remove(table.name, `id IN (${ids.join()})`);
        this.#copy.put(table, toLines(results[index]));
      }
    });
    const isLast = this.#state.place.id === this.#state.newest.id;
    return { isLast, results: results.slice(resources.length) };
  }

  /** Reads the end of everything in one transaction. Undefined when there was more than fits. */
  async #readEnd(): Promise<End | undefined> {
    const { tables, migrations } = this.#state;
    const keys = this.#table(KEYS);
    const lastKey = this.#state.last[KEYS];
    const counts = tables.map(
      // In two parts, because SQLite counts with its opcode Count only when it does nothing else.
      ({ name }) =>
        `SELECT (SELECT count(*) FROM "${name}") AS count, (SELECT CAST(min(id) AS TEXT) FROM "${name}") AS oldest`,
    );
    const { isLast, results } = await this.#readChanges([
      SELECT_TIME,
      // A table whose counter nobody has used is not in sqlite_sequence.
      `SELECT known.name, CAST(ifnull(seq, 0) AS TEXT) AS seq FROM sqlite_schema AS known
        LEFT JOIN sqlite_sequence ON sqlite_sequence.name = known.name WHERE sql LIKE '%AUTOINCREMENT%'`,
      SELECT_MIGRATIONS,
      selectMaximum(keys),
      selectRow(keys, lastKey?.id),
      selectPage(keys, lastKey?.id ?? BEFORE_ALL),
      ...counts,
      // A database of the release before has no such table.
      ...tables.filter(({ name }) => name === WEBHOOKS).map((table) => selectPage(table, BEFORE_ALL)),
    ]);
    const [clock, counters = [], applied = [], maximum, same, since, ...counted] = results;
    if (applied.map(({ name }) => name).join() !== migrations.join()) throw new OtherHistory();
    const largest = maximum?.[0]?.["id"] ?? undefined;
    if (largest !== undefined && this.#haveOtherKeys(keys, same)) return undefined;
    const lastId = this.#addPage(keys, toLines(since)) ?? lastKey?.id;
    if (!isLast || (largest !== undefined && largest !== lastId)) return undefined;
    const end: End = {
      time: String(clock?.[0]?.["time"]),
      counters: Object.fromEntries(
        counters.flatMap(({ name, seq }) => (tables.some((table) => table.name === name) ? [[name, seq]] : [])),
      ),
      rows: Object.fromEntries(tables.map(({ name }, index) => [name, Number(counted[index]?.[0]?.["count"])])),
    };
    this.#state.end = end;
    this.#copy.save(this.#state, () => {
      for (const [index, table] of tables.entries()) {
        const oldest = counted[index]?.[0]?.["oldest"];
        if (AGING.includes(table.name)) this.#copy.remove(table.name, oldest == null ? "true" : `id < ${oldest}`);
        if (table.name === WEBHOOKS) this.#copy.put(table, toLines(counted[tables.length]));
      }
    });
    return end;
  }

  /** Writes the files of the backup, and reads them. The manifest is written last. */
  async write(folder: string, { time, counters, rows }: End): Promise<ManifestContents> {
    const { tables, migrations, place } = this.#state;
    const written: ManifestContents["tables"] = {};
    for (const table of tables) {
      const { name } = table;
      const files = await writeTable(folder, table, this.#copy.pagesOf(table));
      if (files.rows !== rows[name]) {
        const message = `${name} has ${rows[name]} rows, and the copy ${files.rows}.`;
        throw new Useless(`${message} Did something but the present version change it? Run the backup again.`);
      }
      for await (const _ of readLines(folder, name, files));
      written[name] = files;
      this.#terminal.say(`${name}: ${files.rows.toLocaleString("en")} rows`);
    }
    const known = new Map(migrationFiles());
    const manifest: ManifestContents = {
      database: this.#database.name,
      moment: { time, event: place },
      migrations: migrations.map((name) => ({ name, sha256: sha256(known.get(name) ?? "") })),
      counters,
      tables: written,
    };
    writeWhole(join(folder, MANIFEST), manifestText(manifest));
    return manifest;
  }
}

/** The state that an earlier attempt left, or that of a new copy. Its place in the feed is from before the first page. */
async function begin(database: Database, copy: Unfinished, terminal: Terminal): Promise<State> {
  const { name } = database;
  const noted = copy.read<State>();
  const migrations = await readMigrations(database);
  if (noted !== undefined) {
    if (noted.database !== name) throw new Error(`${copy.path} has a part of a backup of ${noted.database}.`);
    if (migrations.join() !== noted.migrations.join()) throw new OtherHistory();
    terminal.say("Going on with the backup that was interrupted.");
    return noted;
  }
  if ((await readProgress(database)) !== undefined) throw new Error(`A restore of ${name} has not ended. Repeat it.`);
  // After the migrations: the last step reads them again, so that the tables are theirs.
  const tables = await readTables(database);
  for (const table of [EVENTS, KEYS]) {
    if (tables.some((known) => known.name === table)) continue;
    throw new Error(`${name} has no table ${table}. Release the present version first.`);
  }
  const known = new Map(migrationFiles());
  const unknown = migrations.find((migration) => !known.has(migration));
  if (unknown !== undefined) throw new Error(`${name} has the migration ${unknown}. This code is older.`);
  const [newest] = await database.run([NEWEST]);
  const state = { database: name, tables, migrations, place: placeOf(newest), newest: placeOf(newest), last: {} };
  copy.save(state, () => copy.create(tables));
  return state;
}

function placeOf([row]: Row[] = []): Place {
  if (row === undefined) throw new Error("The feed is empty: a migration gives it a first row.");
  return { id: String(row["id"]), tag: String(row["tag"]) };
}

/** A tag has 32 bits, so that a number holds it. */
function placeOfLine({ id, line }: Line): Place {
  const { tag } = JSON.parse(line) as { tag: number };
  return { id, tag: String(tag) };
}

/** The id of the resource that an event reports, if it reports one. */
function idInEvent({ line }: Line): string {
  const { data } = JSON.parse(line) as { data: string };
  return /^\{"id":(-?\d+)/.exec(data)?.[1] ?? "NULL";
}
