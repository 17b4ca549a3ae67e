import type { Database, Row } from "./connection.ts";

/** Rows of one page at most. A page of such rows takes the database a few milliseconds. */
export const PAGE_ROWS = 2_000;
/** Bytes of the values on one page, unless a single row has more. */
export const PAGE_BYTES = 500_000;
/** Less than every id. */
export const BEFORE_ALL = "-9223372036854775808";

/** In the database until its restore has ended. The last transaction of the restore removes it. */
export const PROGRESS_TABLE = "restore_progress";

/** The webhooks that an operator stopped, each with its version since. */
export const STOPPED_TABLE = "stopped_webhooks";

/** Written by commands, and of no use in another database. */
export const OWN_TABLES = ["release_lease", PROGRESS_TABLE, "last_backup", STOPPED_TABLE];

/** Follows from other tables, and changes without an event. A restored service makes its rows anew. */
export const DERIVED_TABLES = ["inventory", "live_hubs", "pets_words", "search_index"];
/** The same for columns. Without them, a backup does not depend on the rules that they come from. */
const DERIVED_COLUMNS: { [table: string]: string[] } = { pets: ["folded", "folded_of"] };

/** The statements that let a release name the last backup, unless it knows a later one. */
export const recordBackup = (moment: string) => [
  "CREATE TABLE IF NOT EXISTS last_backup (id INTEGER PRIMARY KEY CHECK (id = 1), moment TEXT NOT NULL)",
  `INSERT INTO last_backup VALUES (1, '${moment}') ON CONFLICT (id) DO UPDATE SET moment = max(moment, excluded.moment)`,
];

/** The tables of SQLite, of D1 and of its migrations. */
const isForeign = (name: string) => /^(?:sqlite_|_cf_|d1_)/.test(name);

/** A table whose rows have an integer as `id`. */
export interface Table {
  name: string;
  /** Those that a backup has, in their order in the table. `id` is the first. */
  columns: string[];
}

/** A row as a line of JSON with all its columns, and its id in digits. Integers are exact. */
export interface Line {
  id: string;
  line: string;
}

type Queries = Pick<Database, "run">;

/** The names of the tables in their order, those of SQLite and D1 too. */
export async function namesOfTables(database: Queries): Promise<string[]> {
  const [found = []] = await database.run(["SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name"]);
  return found.map(({ name }) => String(name));
}

/** All tables with data of their own, in the order of their names. @throws Error when a table has no `id` that its pages could follow. */
export async function readTables(database: Queries): Promise<Table[]> {
  const left = [...OWN_TABLES, ...DERIVED_TABLES];
  const [found = []] = await database.run([
    "SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table' ORDER BY name",
  ]);
  const names = found.map(({ name }) => String(name)).filter((name) => !isForeign(name) && !left.includes(name));
  if (names.length === 0) return [];
  const described = await database.run(names.map((name) => `SELECT name, pk FROM pragma_table_info('${name}')`));
  return names.map((name, index) => {
    const [first, ...others] = described[index] ?? [];
    if (first?.["name"] !== "id" || first["pk"] !== 1 || others.some(({ pk }) => pk !== 0)) {
      throw new Error(`The table ${name} does not begin with its primary key "id".`);
    }
    const columns = [first, ...others].map((column) => String(column["name"]));
    return { name, columns: columns.filter((column) => !DERIVED_COLUMNS[name]?.includes(column)) };
  });
}

/** The time of the database, which dates a backup and tells its age. */
export const SELECT_TIME = "SELECT strftime('%Y-%m-%dT%H:%M:%fZ', 'now') AS time";
/** The names of the tables that never give out an id twice. */
export const SELECT_COUNTED =
  "SELECT name FROM sqlite_schema WHERE sql LIKE '%AUTOINCREMENT%' AND name <> 'd1_migrations'";
export const SELECT_MIGRATIONS = "SELECT name FROM d1_migrations ORDER BY id";

/** The rows of a table that may not be there. */
export async function rowsOf(database: Queries, table: string, select: string): Promise<Row[]> {
  const [found = []] = await database.run([`SELECT 1 FROM sqlite_schema WHERE name = '${table}'`]);
  return found.length === 0 ? [] : ((await database.run([select]))[0] ?? []);
}

/** The names of the applied migrations, in their order. */
export async function readMigrations(database: Queries): Promise<string[]> {
  return (await rowsOf(database, "d1_migrations", SELECT_MIGRATIONS)).map(({ name }) => String(name));
}

export const selectLines = ({ name, columns }: Table) =>
  `SELECT CAST(id AS TEXT) AS id, json_object(${columns.map((column) => `'${column}', "${column}"`).join(", ")}) AS line FROM "${name}"`;

/** The SELECT of rows from the lines of a JSON array, which is the parameter. */
export const selectValues = ({ columns }: Pick<Table, "columns">) =>
  `SELECT ${columns.map((column) => `value ->> '$.${column}'`).join(", ")} FROM json_each(?1)`;

/** The SELECT of the lines of the next page, in the order of their ids. */
export function selectPage(table: Table, after: string, pageBytes = PAGE_BYTES): string {
  const { name, columns } = table;
  const bytes = columns.map((column) => `ifnull(octet_length("${column}"), 0)`).join(" + ");
  // The inner LIMIT bounds what the window function reads. The last `id` is the column, because the text would sort as text.
  return `${selectLines(table)}
    WHERE id > ${after} AND id <= (
      SELECT ifnull(max(id) FILTER (WHERE total <= ${pageBytes}), min(id)) FROM (
        SELECT id, sum(bytes) OVER (ORDER BY id) AS total FROM (
          SELECT id, ${bytes} AS bytes FROM "${name}" WHERE id > ${after} ORDER BY id LIMIT ${PAGE_ROWS})))
    ORDER BY "${name}".id`;
}

/** The SELECT of the line of one row, or of none. */
export const selectRow = (table: Table, id = "NULL") => `${selectLines(table)} WHERE id = ${id}`;

export const selectMaximum = ({ name }: Pick<Table, "name">) => `SELECT CAST(max(id) AS TEXT) AS id FROM "${name}"`;

export const toLines = (rows: Row[] = []): Line[] =>
  rows.map(({ id, line }) => ({ id: String(id), line: String(line) }));

/** The rows of a table after an id, page by page, each of its own moment. */
export async function* pagesOf(
  database: Queries,
  table: Table,
  after = BEFORE_ALL,
  pageBytes = PAGE_BYTES,
): AsyncGenerator<Line[]> {
  for (;;) {
    const [rows] = await database.run([selectPage(table, after, pageBytes)]);
    const lines = toLines(rows);
    const last = lines.at(-1);
    if (last === undefined) return;
    yield lines;
    after = last.id;
  }
}
