import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import type { Terminal } from "../terminal.ts";
import { TableWriter, verify } from "./archive.ts";
import type { Database, Row } from "./connection.ts";
import {
  MANIFEST,
  type ManifestContents,
  manifestText,
  PRIVATE_FOLDER,
  readManifest,
  sha256,
  writeWhole,
} from "./manifest.ts";
import type { Parts } from "./parts.ts";
import { readProgress } from "./progress.ts";
import {
  BEFORE_ALL,
  type Line,
  lineOf,
  readMigrations,
  readTables,
  SELECT_MIGRATIONS,
  SELECT_TIME,
  selectMaximum,
  selectPage,
  selectRow,
  type Table,
  toLines,
} from "./tables.ts";
import { unzip, zip } from "./zipped-json.ts";

// A copy of a database that others change meanwhile. Its pages are of different moments. So the copy then follows the feed of events from
// the place that was noted before the first page, and reads each changed row again. The last step reads the end of the feed, the rows that
// it names, the idempotency keys since, the webhooks, the counters and the number of rows in one transaction: the backup is the truth of
// that moment.

/** Where a backup is until it is finished. Its presence means that a repetition goes on. */
const WORK = "unfinished";
const MIGRATIONS = join(import.meta.dirname, "../../drizzle");
/** Times that a backup starts anew by itself, because the history of the database is another one. */
const STARTS = 3;
/** Pages between two lines of progress. */
const PROGRESS = 100;

const EVENTS = "events";
const KEYS = "idempotency_keys";
/** Its changes leave no event, and its few rows are less than a page. The last transaction reads it whole. */
const WEBHOOKS = "webhooks";
/** The table of the resource that an event reports, by the first part of its type. Null if it reports none. */
const RESOURCES: { [type: string]: string | null } = {
  pet: "pets",
  category: "categories",
  order: "orders",
  feed: null,
};

/** A place in the feed. */
interface Place {
  id: string;
  tag: string;
}
const atPlace = ({ id, tag }: Place) => `SELECT 1 AS one FROM ${EVENTS} WHERE id = ${id} AND tag = ${tag}`;
// An unqualified id would be the text of the result, which sorts 9 after 10.
const NEWEST = `SELECT CAST(id AS TEXT) AS id, CAST(tag AS TEXT) AS tag FROM ${EVENTS} ORDER BY ${EVENTS}.id DESC LIMIT 1`;

/** What is known before the first page. */
interface Start {
  place: Place;
  tables: Table[];
  migrations: string[];
}

/** A page of a table, and the newest event of its moment. */
interface Page {
  newest: Place;
  lines: Line[];
}

/** What happened since the place before it: the events, and the rows that they name as they are now. Without a line, a row was deleted. */
interface Changes {
  events: Line[];
  rows: { [table: string]: { id: string; line?: string }[] };
}

/** What the last transaction read beside the last changes and keys. */
interface End {
  newest: Place;
  time: string;
  counters: { [table: string]: string };
  rows: { [table: string]: number };
  webhooks: Line[];
  /** The oldest id of tables whose oldest rows a job removes. */
  oldest: { [table: string]: string };
}

/** The history of the database is not the one that the copy began with, or has lost its place in it. */
class OtherHistory extends Error {}

/** Whether a folder has a whole backup. */
export const isFinished = (folder: string) => existsSync(join(folder, MANIFEST)) && !existsSync(join(folder, WORK));

/**
 * Copies a database into a folder. After an interruption, a repetition goes on where the last attempt ended.
 *
 * @param parts keep the unfinished backup for a repetition on another machine.
 * @throws Error when the folder has a backup already, and when the copy cannot be the truth of one moment.
 */
export async function copyDatabase(
  database: Database,
  folder: string,
  terminal: Terminal,
  parts?: Parts,
): Promise<ManifestContents> {
  const work = join(folder, WORK);
  if (existsSync(join(folder, MANIFEST))) {
    if (isFinished(folder)) throw new Error(`${folder} has a finished backup. Name another folder.`);
    const { manifest } = readManifest(folder);
    if (manifest.database !== database.name) throw new Error(`${folder} has a backup of ${manifest.database}.`);
    // Only the removal was interrupted.
    rmSync(work, { recursive: true });
    return manifest;
  }
  await parts?.fetch(work);
  for (let start = 1; ; start++) {
    try {
      const copy = new Copy(database, work, terminal, parts);
      await copy.begin();
      const end = await copy.readAll();
      return await copy.finish(folder, end);
    } catch (error) {
      if (error instanceof OtherHistory) rmSync(work, { recursive: true });
      // What is void here is void in the bucket too.
      if (!existsSync(work)) await parts?.remove();
      if (!(error instanceof OtherHistory)) throw error;
      const what = `${database.name} was restored or migrated, or removed events that the backup needs`;
      if (start === STARTS) throw new Error(`${what}, ${STARTS} times. Try again later.`, { cause: error });
      terminal.say(`${what}. The backup starts anew.`);
    }
  }
}

class Copy {
  readonly #database: Database;
  readonly #work: string;
  readonly #terminal: Terminal;
  readonly #parts: Parts | undefined;
  /** How many pages of a kind there are: a folder of many files takes long to list. */
  readonly #counts = new Map<string, number>();
  #start: Start | undefined;

  constructor(database: Database, work: string, terminal: Terminal, parts: Parts | undefined) {
    this.#database = database;
    this.#work = work;
    this.#terminal = terminal;
    this.#parts = parts;
  }

  /** Notes the place in the feed before the first page, unless an earlier attempt did. */
  async begin(): Promise<void> {
    mkdirSync(this.#work, { recursive: true, mode: PRIVATE_FOLDER });
    const noted = this.#read<Start & { database: string }>("start");
    const { name } = this.#database;
    if (noted !== undefined) {
      if (noted.database !== name) throw new Error(`${this.#work} has a part of a backup of ${noted.database}.`);
      if ((await readMigrations(this.#database)).join() !== noted.migrations.join()) throw new OtherHistory();
      this.#terminal.say("Going on with the backup that was interrupted.");
      this.#start = noted;
      // A place that is gone is noticed before more pages. One that is there moves on, so that it stays there until the next night.
      if (this.#read("end") === undefined) while (!(await this.#readChanges()).isLast);
      return;
    }
    if ((await readProgress(this.#database)) !== undefined)
      throw new Error(`A restore of ${name} has not ended. Repeat it.`);
    // Before the tables: the last step reads the migrations again, so that the tables are theirs.
    const migrations = await readMigrations(this.#database);
    const tables = await readTables(this.#database);
    for (const table of [EVENTS, KEYS, ...Object.values(RESOURCES)]) {
      if (table === null || tables.some((known) => known.name === table)) continue;
      throw new Error(`${name} has no table ${table}. Release the present version first.`);
    }
    const unknown = migrations.find((migration) => !existsSync(join(MIGRATIONS, migration)));
    if (unknown !== undefined) throw new Error(`${name} has the migration ${unknown}. This code is older.`);
    const [newest] = await this.#database.run([NEWEST]);
    this.#start = { place: placeOf(newest), tables, migrations };
    this.#keep("start", { ...this.#start, database: name });
  }

  /** Reads everything, up to one moment. */
  async readAll(): Promise<End> {
    const ended = this.#read<End>("end");
    if (ended !== undefined) return ended;
    for (const table of this.#started.tables) if (table.name !== WEBHOOKS) await this.#readPages(table);
    for (;;) {
      while (!(await this.#readChanges()).isLast);
      await this.#readPages(this.#table(KEYS));
      const end = await this.#readEnd();
      if (end === undefined) continue;
      this.#write("end", end);
      return end;
    }
  }

  get #started(): Start {
    if (this.#start === undefined) throw new Error("The copy has not begun.");
    return this.#start;
  }

  #table(name: string): Table {
    const table = this.#started.tables.find((known) => known.name === name);
    if (table === undefined) throw new Error(`There is no table ${name}.`);
    return table;
  }

  /** Reads the pages of a table that earlier ones do not have, up to the largest id of now: more may be created than a page has. */
  async #readPages(table: Table): Promise<void> {
    let last = this.#pages<Page>(table.name).last?.lines.at(-1);
    let end: bigint | undefined;
    for (let count = 1; ; count++) {
      const [newest, maximum, same, rows] = await this.#database.run([
        NEWEST,
        selectMaximum(table),
        selectRow(table, last?.id),
        selectPage(table, last?.id ?? BEFORE_ALL),
      ]);
      if (table.name === KEYS && last !== undefined && toLines(same)[0]?.line !== last.line) {
        this.#forget(KEYS);
        [last, end] = [undefined, undefined];
        continue;
      }
      const lines = toLines(rows);
      last = lines.at(-1);
      if (last === undefined) return;
      this.#add(table.name, { newest: placeOf(newest), lines } satisfies Page);
      await this.#parts?.send(this.#work);
      end ??= BigInt(String(maximum?.[0]?.["id"]));
      if (BigInt(last.id) >= end) return;
      if (count % PROGRESS === 0) this.#terminal.say(`${table.name}: up to id ${last.id}`);
    }
  }

  /** Reads a page of the feed, and the rows that it names. */
  async #readChanges(more: string[] = []): Promise<{ isLast: boolean; results: Row[][] }> {
    const last = this.#pages<Changes>("changes").last?.events.at(-1);
    const place: Place = last === undefined ? this.#started.place : placeOfLine(last);
    const events = this.#table(EVENTS);
    const page = selectPage(events, place.id);
    const resources = Object.values(RESOURCES).filter((name) => name !== null);
    const results = await this.#database.run([
      atPlace(place),
      NEWEST,
      page,
      ...resources.map((name) => {
        const named = `SELECT line ->> '$.data' ->> '$.id' FROM (${page})`;
        return `SELECT CAST(id AS TEXT) AS id, ${lineOf(this.#table(name))} AS line FROM ${name} WHERE id IN (${named})`;
      }),
      ...more,
    ]);
    const [here, newest, found, ...rest] = results;
    if (here?.length !== 1) throw new OtherHistory();
    const lines = toLines(found);
    const changes: Changes = { events: lines, rows: {} };
    for (const [index, name] of resources.entries()) {
      const present = new Map(toLines(rest[index]).map((line) => [line.id, line]));
      const ids = new Set(lines.map(resourceOf).flatMap(({ table, id }) => (table === name ? [id] : [])));
      changes.rows[name] = [...ids].map((id) => present.get(id) ?? { id });
    }
    if (lines.length > 0) this.#add("changes", changes);
    await this.#parts?.send(this.#work);
    const isLast = (lines.at(-1)?.id ?? place.id) === placeOf(newest).id;
    return { isLast, results: rest.slice(resources.length) };
  }

  /** Reads the end of everything in one transaction. Undefined when there was more than fits. */
  async #readEnd(): Promise<End | undefined> {
    const { tables } = this.#started;
    const lastKey = this.#pages<Page>(KEYS).last?.lines.at(-1);
    const keys = this.#table(KEYS);
    const counts = tables.map(
      // In two parts, because SQLite counts without reading rows only when it does nothing else.
      ({ name }) =>
        `SELECT (SELECT count(*) FROM "${name}") AS count, (SELECT CAST(min(id) AS TEXT) FROM "${name}") AS oldest`,
    );
    const { isLast, results } = await this.#readChanges([
      SELECT_TIME,
      NEWEST,
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
    const [clock, newest, counters = [], applied = [], maximum, same, since, ...counted] = results;
    if (applied.map(({ name }) => name).join() !== this.#started.migrations.join()) throw new OtherHistory();
    // Perhaps every key was removed, and new ones took the ids of the old ones.
    const [largest] = maximum ?? [];
    if (lastKey !== undefined && largest?.["id"] != null && toLines(same)[0]?.line !== lastKey.line) {
      this.#forget(KEYS);
      return undefined;
    }
    const lines = toLines(since);
    if (lines.length > 0) this.#add(KEYS, { newest: placeOf(newest), lines } satisfies Page);
    const lastId = lines.at(-1)?.id ?? lastKey?.id;
    if (!isLast || (largest?.["id"] != null && String(largest["id"]) !== lastId)) return undefined;
    const rowOf = (index: number) => counted[index]?.[0];
    return {
      newest: placeOf(newest),
      time: String(clock?.[0]?.["time"]),
      counters: Object.fromEntries(
        counters.flatMap(({ name, seq }) => (tables.some((table) => table.name === name) ? [[name, seq]] : [])),
      ),
      webhooks: toLines(counted[tables.length]),
      rows: Object.fromEntries(tables.map(({ name }, index) => [name, Number(rowOf(index)?.["count"])])),
      oldest: Object.fromEntries(
        tables.flatMap(({ name }, index) =>
          name === EVENTS || name === KEYS ? [[name, String(rowOf(index)?.["oldest"] ?? "")]] : [],
        ),
      ),
    };
  }

  /** Merges the pages and the changes into the files of the backup. The manifest is written last. */
  async finish(folder: string, end: End): Promise<ManifestContents> {
    const { tables, migrations } = this.#started;
    const changes = this.#checkedChanges();
    const written: ManifestContents["tables"] = {};
    for (const table of tables) {
      const writer = new TableWriter(folder, table.name);
      for (const line of this.#merged(table.name, end, changes)) writer.add(line);
      const files = writer.finish(table.columns);
      if (files.rows !== end.rows[table.name]) {
        const message = `${table.name} has ${end.rows[table.name]} rows, and the copy ${files.rows}.`;
        rmSync(this.#work, { recursive: true });
        throw new Error(`${message} Did something but the present version change it? Run the backup again.`);
      }
      written[table.name] = files;
      this.#terminal.say(`${table.name}: ${files.rows.toLocaleString("en")} rows`);
    }
    const manifest: ManifestContents = {
      database: this.#database.name,
      moment: { time: end.time, event: end.newest },
      migrations: migrations.map((name) => ({ name, sha256: sha256(readFileSync(join(MIGRATIONS, name), "utf8")) })),
      counters: end.counters,
      tables: written,
    };
    await verify(folder, manifest);
    writeWhole(join(folder, MANIFEST), manifestText(manifest));
    rmSync(this.#work, { recursive: true });
    return manifest;
  }

  /** All changes. @throws OtherHistory when a page is of a history that the feed does not continue. */
  #checkedChanges(): Changes[] {
    const changes = [...this.#pages<Changes>("changes").all()];
    const { place, tables } = this.#started;
    const tags = new Map([[place.id, place.tag]]);
    for (const { events } of changes) for (const event of events) tags.set(event.id, placeOfLine(event).tag);
    for (const { name } of tables) {
      for (const { newest } of this.#pages<Page>(name).all()) {
        if (tags.get(newest.id) !== newest.tag) throw new OtherHistory();
      }
    }
    return changes;
  }

  *#merged(table: string, { rows: counts, oldest, webhooks }: End, changes: readonly Changes[]): Generator<string> {
    if (counts[table] === 0) return;
    if (table === WEBHOOKS) {
      for (const { line } of webhooks) yield line;
      return;
    }
    const since = new Map<string, string | undefined>();
    for (const { events, rows } of changes) {
      for (const { id, line } of table === EVENTS ? events : (rows[table] ?? [])) since.set(id, line);
    }
    const first = BigInt(oldest[table] || BEFORE_ALL);
    for (const { lines } of this.#pages<Page>(table).all()) {
      for (const { id, line } of lines) {
        const present = since.has(id) ? since.get(id) : line;
        since.delete(id);
        if (present !== undefined && BigInt(id) >= first) yield present;
      }
    }
    // What was created since: ids ascend, and no id is given out twice.
    const created = [...since].toSorted(([a], [b]) => (BigInt(a) < BigInt(b) ? -1 : 1));
    for (const [id, line] of created) if (line !== undefined && BigInt(id) >= first) yield line;
  }

  // The pages of an unfinished backup: one file each, numbered from 1, so that an interrupted page does not count.

  #pages<Value>(kind: string): { all: () => Generator<Value>; last: Value | undefined } {
    const count = this.#count(kind);
    const read = (page: number) => this.#read<Value>(`${kind}-${page}`);
    return {
      *all() {
        for (let page = 1; page <= count; page++) yield read(page) as Value;
      },
      get last() {
        return count === 0 ? undefined : read(count);
      },
    };
  }

  #count(kind: string): number {
    const pattern = new RegExp(`^${kind}-\\d+\\.json\\.gz$`);
    const count = this.#counts.get(kind) ?? readdirSync(this.#work).filter((file) => pattern.test(file)).length;
    this.#counts.set(kind, count);
    return count;
  }

  #add(kind: string, page: Page | Changes): void {
    const number = this.#count(kind) + 1;
    this.#keep(`${kind}-${number}`, page);
    this.#counts.set(kind, number);
  }

  #forget(kind: string): void {
    for (let page = this.#count(kind); page > 0; page--) rmSync(this.#file(`${kind}-${page}`));
    this.#counts.set(kind, 0);
  }

  /** Writes what a repetition on another machine needs. */
  #keep(name: string, value: object): void {
    const bytes = this.#write(name, value);
    this.#parts?.add(basename(this.#file(name)), bytes);
  }

  #file(name: string): string {
    return join(this.#work, `${name}.json.gz`);
  }

  #read<Value>(name: string): Value | undefined {
    const file = this.#file(name);
    if (!existsSync(file)) return undefined;
    try {
      return unzip(readFileSync(file)) as Value;
    } catch (error) {
      rmSync(this.#work, { recursive: true });
      throw new Error(`${file} was damaged. Run the backup again: it starts anew.`, { cause: error });
    }
  }

  /** Returns the bytes of the file. */
  #write(name: string, value: object): number {
    const bytes = zip(value);
    writeWhole(this.#file(name), bytes);
    return bytes.length;
  }
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

/** The resource that an event names. */
function resourceOf({ line }: Line): { table: string | null; id: string } {
  const { type, data } = JSON.parse(line) as { type: string; data: string };
  const table = RESOURCES[type.split(".")[0] ?? ""];
  if (table === undefined) throw new Error(`The backup does not know events of the type ${type}.`);
  return { table, id: /^\{"id":(-?\d+)/.exec(data)?.[1] ?? "" };
}
