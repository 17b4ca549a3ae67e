import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { constants, DatabaseSync, type StatementSync } from "node:sqlite";
import { PARAMETER } from "../src/db/statement.ts";

/**
 * What D1 refuses and SQLite does not. workerd 1.20261023.1 has these limits, in D1 and in Durable Objects, but for two: D1 documents fewer
 * arguments of a function (32) and shorter texts, BLOBs and rows (2,000,000 bytes) than it has locally (127 and 8 MiB).
 */
export const LIMITS = {
  /** Bytes. */
  sqlLength: 100_000,
  /** Bytes. */
  length: 2_000_000,
  variableNumber: 100,
  /** SELECTs in one compound. Rows of VALUES do not count, and a subquery counts its own. */
  compoundSelect: 5,
  /** Of a table, a result, ORDER BY, GROUP BY or an index. */
  column: 100,
  functionArg: 32,
  exprDepth: 100,
  /** Bytes. */
  likePatternLength: 50,
  /** Instructions of a compiled statement. */
  vdbeOp: 25_000,
};

/** The functions of the SQLite of Node.js 24.21.0 that D1 refuses or lacks. */
const REFUSED_FUNCTIONS =
  /^(?:sqlite_.*|fts5.*|geopoly_.*|percentile.*|median|power|ceiling|log10|json_pretty|json_error_position|subtype|unistr.*|if|rtreenode)$/;
const PRAGMAS =
  /^(?:foreign_keys|defer_foreign_keys|foreign_key_check|foreign_key_list|table_list|table_x?info|index_(?:list|x?info)|quick_check|optimize|case_sensitive_like|ignore_check_constraints|legacy_alter_table|recursive_triggers)$/;
/** Of SQLite and of workerd, which D1 does not show. */
const REFUSED_TABLES = /^(?:_cf_|dbstat$)/;
/** Node.js 24.21.0 has no name for it (sqlite.org/c3ref/c_alter_table.html). */
const SQLITE_DETACH = 25;
const REFUSED_ACTIONS = new Set([
  constants.SQLITE_ATTACH,
  SQLITE_DETACH,
  constants.SQLITE_TRANSACTION,
  constants.SQLITE_SAVEPOINT,
  constants.SQLITE_CREATE_TEMP_TABLE,
  constants.SQLITE_CREATE_TEMP_INDEX,
  constants.SQLITE_CREATE_TEMP_TRIGGER,
  constants.SQLITE_CREATE_TEMP_VIEW,
]);

/** Literals and names, in which a question mark is no parameter. */
export const QUOTED = /'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`/g;

/** What a program has prepared, and for how many values. */
export interface Prepared {
  statement: StatementSync;
  parameters: number;
}

/** SQLite in memory, with the rules of D1. */
export class Sqlite extends DatabaseSync {
  /** Whether a program asks, and not the simulation itself. */
  #isAsked = false;

  constructor() {
    // D1 takes a name in double quotes for a text when there is no such column, unless the name of the table is before it.
    super(":memory:", { enableDoubleQuotedStringLiterals: true, limits: LIMITS });
    this.setAuthorizer((action, first, second) =>
      this.#isAsked && isRefused(action, first, second) ? constants.SQLITE_DENY : constants.SQLITE_OK,
    );
  }

  /** Prepares a statement of a program. @throws Error for what D1 refuses, and for several statements in one text, which D1 takes. */
  prepareAsked(sql: string): Prepared {
    const statement = this.asked(() => this.prepare(sql));
    // D1 runs each statement in a transaction.
    if (/^\s*VACUUM\b/i.test(sql)) throw new Error("cannot VACUUM from within a transaction");
    if (sql.slice(statement.sourceSQL.length).trim() !== "")
      throw new Error("There are several statements in one text");
    let parameters = 0;
    for (const [, number] of sql.replace(QUOTED, "").matchAll(/\?(\d*)/g))
      parameters = number === "" ? parameters + 1 : Math.max(parameters, Number(number));
    return { statement, parameters };
  }

  /** Runs what prepares statements of a program, with the rules for it. */
  asked<Result>(run: () => Result): Result {
    this.#isAsked = true;
    try {
      return run();
    } finally {
      this.#isAsked = false;
    }
  }

  /** Applies the migrations of a folder, of which so many are there already, up to this number of them in all. Returns the names of the new ones. */
  migrate(folder: string, applied = 0, count = Infinity): string[] {
    const names = readdirSync(folder).filter((name) => name.endsWith(".sql"));
    const missing = names.toSorted().slice(applied, count);
    for (const name of missing) this.exec(readFileSync(join(folder, name), "utf8"));
    return missing;
  }
}

/**
 * Prepares statements on the schema of the migrations.
 *
 * @param texts the SQL of each by its name, with `:name` for a parameter.
 * @throws Error with the first one that D1 refuses, for a rule of the platform or for a table, a column or an index that is not there.
 */
export function prepareEach(texts: ReadonlyMap<string, string>): void {
  const database = new Sqlite();
  database.migrate(join(import.meta.dirname, "../drizzle"));
  for (const [name, text] of texts) {
    try {
      database.prepareAsked(text.replaceAll(PARAMETER, "?"));
    } catch (error) {
      throw new Error(`D1 refuses the statement ${name}: ${(error as Error).message}`, { cause: error });
    }
  }
  database.close();
}

function isRefused(action: number, first: string | null, second: string | null): boolean {
  if (action === constants.SQLITE_FUNCTION) return REFUSED_FUNCTIONS.test(second ?? "");
  const pragma = action === constants.SQLITE_PRAGMA ? first : /^pragma_(.*)/.exec(first ?? "")?.[1];
  if (pragma != null) return !PRAGMAS.test(pragma);
  return REFUSED_ACTIONS.has(action) || REFUSED_TABLES.test(first ?? "");
}
