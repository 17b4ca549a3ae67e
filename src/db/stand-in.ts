// The bundle has this in the place of drizzle: scripts/compile-statements.ts writes the SQL of each statement when the Worker is built. A
// call of drizzle makes an expression, which only knows the calls that it comes from. They name the statement.
import { crc32 } from "../hash/crc32.ts";

/** A parameter: the name of its placeholder in an array, or a constant. */
export type Param = readonly [placeholder: string] | string | number;
export interface Query {
  sql: string;
  params: Param[];
}

const CALLS = Symbol("calls");
const COLUMNS = Symbol("columns");
/** Of the checksum that is the name of a statement. */
const BITS = 24;

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

const nameOf = (calls: string) => (crc32(new TextEncoder().encode(calls)) >>> (32 - BITS)).toString(36);

/** A parameter in a written statement: a constant in JSON, or the name of a placeholder. */
const PARAM = /\?(?:(\d+|"(?:[^"\\]|\\.)*")|(\w+))/g;

/** Between the lines. SQL has line breaks, and none of these (ASCII's record separator). */
export const SEPARATOR = "\u001e";

/**
 * Reads a statement that the build has written. Each has a line: its name, how many characters its beginning and its end have in common with
 * those of the line before, and what is between.
 *
 * @returns undefined when there is none of this name.
 */
export function readStatement(lines: string, name: string): string | undefined {
  let start = lines.indexOf(`${SEPARATOR}${name} `);
  if (start === -1) return undefined;
  const needed: [begin: number, end: number, middle: string][] = [];
  for (let begin = 1; begin > 0; start = lines.lastIndexOf(SEPARATOR, start - 1)) {
    const line = lines.slice(start + 1, lines.indexOf(SEPARATOR, start + 1));
    const [name = "", beginning = "", ending = ""] = line.split(" ", 3);
    begin = Number(beginning);
    needed.push([begin, Number(ending), line.slice(name.length + beginning.length + ending.length + 3)]);
  }
  return needed.reduceRight(
    (text, [begin, end, middle]) => text.slice(0, begin) + middle + text.slice(text.length - end),
    "",
  );
}

/** @param queryOf the query of a name. */
export function standInFor(queryOf: (name: string, calls: string) => Query) {
  function expression(calls: string, columns: object = {}): Expression {
    const call = (given: unknown[]) => expression(`${calls}(${given.map(callsOf).join()})`);
    return new Proxy(function () {}, {
      get(_target, name) {
        if (name === CALLS) return calls;
        if (name === COLUMNS) return columns;
        if (name === "toSQL") return () => queryOf(nameOf(calls), calls);
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

/** @param lines of `readStatements`. */
export function standIn(lines: string) {
  return standInFor((name, calls) => {
    const text = readStatement(lines, name);
    if (text === undefined) throw new Error(`The build has no SQL for ${calls}`);
    const params: Param[] = [];
    const sql = text.replace(PARAM, (_text, constant: string | undefined, placeholder: string) => {
      params.push(constant === undefined ? [placeholder] : JSON.parse(constant));
      return "?";
    });
    return { sql, params };
  });
}
