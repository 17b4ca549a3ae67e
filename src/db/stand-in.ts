// The bundle has this in the place of drizzle: scripts/compile-statements.ts writes the SQL of each statement when the Worker is built. A
// call of drizzle makes an expression, which only knows the calls that it comes from. They name the statement.
import { crc32 } from "../hash/crc32.ts";
import { lazy } from "../lazy.ts";

/** A parameter: the name of its placeholder in an array, or a constant. */
export type Param = readonly [placeholder: string] | string | number;
export interface Query {
  sql: string;
  params: Param[];
}

const CALLS = Symbol("calls");
const COLUMNS = Symbol("columns");

/** Whatever drizzle exports. */
// oxlint-disable-next-line typescript/no-explicit-any
type Expression = any;

/** The calls of a value, as text. A function that is no expression has none: what it makes is not in a statement. */
function callsOf(value: Expression): string {
  if (typeof value === "function") return value[CALLS] ?? "";
  if (Array.isArray(value)) return `[${value.map(callsOf).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  const members = Object.entries(value).map(([name, member]) => `${name}:${callsOf(member)}`);
  return `{${members.join()}}`;
}

/** Characters of a name, each of 6 bits. */
export const NAME_LENGTH = 3;

/**
 * The name of a statement: a part of a checksum of its calls.
 *
 * @param salt an odd number, with which no two statements have one name. The build finds it.
 */
export function nameOf(calls: string, salt: number): string {
  const checksum = Math.imul(crc32(new TextEncoder().encode(calls)), salt);
  return String.fromCharCode(...[26, 20, 14].map((shift) => ((checksum >>> shift) & 63) + 58));
}

/** Between the salt, the names and the lines. SQL has line breaks, and none of these (ASCII's record separator). */
export const SEPARATOR = "\u001e";
/** Between the edits of a line (ASCII's group separator). */
export const EDIT_SEPARATOR = "\u001d";
/** A number is one character: the one with the code of 0, or one that follows it. */
export const ZERO = 33;
/** Stands for the first table of a statement, but where it is first. */
export const SAME_TABLE = "~";
/** The first table of a statement. */
export const TABLE = /"\w+"(?=\.)/;
/** Between words. */
export const SPACE = / (?=[^ ])/;

const numberAt = (text: string, place: number) => text.charCodeAt(place) - ZERO;

/**
 * The words of a line. It says how many lines before it another one is, and which edits of the words of that one make its own. An edit
 * leaves some words as they are, removes some, and inserts others.
 */
function wordsOf(lines: readonly string[], index: number): string[] {
  const [line = ""] = lines.slice(index);
  const back = numberAt(line, 0);
  const words = back > 0 ? wordsOf(lines, index - back) : [];
  let place = 0;
  for (const edit of line.slice(1).split(EDIT_SEPARATOR)) {
    const inserted = edit.length > 2 ? edit.slice(2).split(SPACE) : [];
    place += numberAt(edit, 0);
    words.splice(place, numberAt(edit, 1), ...inserted);
    place += inserted.length;
  }
  return words;
}

/**
 * Reads the statements that the build has written: the salt of their names, the names, and a line for each.
 *
 * @returns the SQL of the statement with some calls, or undefined when there is none.
 */
export function readStatements(written: string): (calls: string) => string | undefined {
  const read = lazy(() => {
    const [salt, names = "", ...lines] = written.split(SEPARATOR);
    return { salt: Number(salt), names, lines };
  });
  return (calls) => {
    const { salt, names, lines } = read();
    const name = nameOf(calls, salt);
    let place = names.indexOf(name);
    // Parts of two names are no name.
    while (place % NAME_LENGTH > 0) place = names.indexOf(name, place + 1);
    if (place === -1) return undefined;
    const text = wordsOf(lines, place / NAME_LENGTH).join(" ");
    return text.replaceAll(SAME_TABLE, TABLE.exec(text)?.[0] ?? "");
  };
}

/** A parameter in a written statement: a constant in JSON, or the name of a placeholder. */
const PARAM = /\?(?:(\d+|"(?:[^"\\]|\\.)*")|(\w+))/g;

/** @param queryOf the query that some calls make. */
export function standInFor(queryOf: (calls: string) => Query) {
  function expression(calls: string, columns: object = {}): Expression {
    const call = (given: unknown[]) => expression(`${calls}(${given.map(callsOf).join()})`);
    return new Proxy(function () {}, {
      get(_target, name) {
        if (name === CALLS) return calls;
        if (name === COLUMNS) return columns;
        if (name === "toSQL") return () => queryOf(calls);
        // A column in a template string.
        if (name === Symbol.toPrimitive) return () => calls;
        return typeof name === "symbol" ? undefined : expression(`${calls}.${name}`);
      },
      apply: (_target, _this, given) => call(given),
      construct: (_target, given) => call(given),
    });
  }
  return {
    expression,
    /** Known by its name: a statement does not depend on the other columns, nor on indexes. */
    sqliteTable: (name: string, columns: object) => expression(name, columns),
    getTableColumns: (table: Expression) =>
      Object.fromEntries(Object.keys(table[COLUMNS]).map((column) => [column, table[column]])),
    fillPlaceholders: (params: readonly Param[], values: { [name: string]: unknown }) =>
      params.map((param) => {
        if (!Array.isArray(param)) return param;
        const [name]: [string] = param as never;
        if (!(name in values)) throw new Error(`The parameter ${name} has no value`);
        return values[name];
      }),
  };
}

/** @param written the statements, as `readStatements` reads them. */
export function standIn(written: string) {
  const read = readStatements(written);
  return standInFor((calls) => {
    const text = read(calls);
    if (text === undefined) throw new Error(`The build has no SQL for ${calls}`);
    const params: Param[] = [];
    const sql = text.replace(PARAM, (_text, constant: string | undefined, placeholder: string) => {
      params.push(constant === undefined ? [placeholder] : JSON.parse(constant));
      return "?";
    });
    return { sql, params };
  });
}
