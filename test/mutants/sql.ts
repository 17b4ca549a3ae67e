/** A part of a text, and what replaces it. */
export interface Edit {
  start: number;
  end: number;
  text: string;
}

const CONJUNCTION = /\b(?:AND|OR)\b(?! (?:IGNORE|REPLACE))/g;
const CLAUSE = /\b(?:WHERE|ORDER BY|GROUP BY|LIMIT|OFFSET|ON CONFLICT)\b/g;
const WORD = /\b(?:DISTINCT|UNIQUE|NOT NULL|NOT|OR IGNORE|OR REPLACE)\b/g;
const BEGINS_CLAUSE =
  /^(?:WHERE|ORDER BY|GROUP BY|LIMIT|OFFSET|ON CONFLICT|RETURNING|UNION|SELECT|FROM|SET|VALUES|THEN)\b/;
const ENDS_CONDITION = /^(?:,|(?:AND|OR)\b)/;
const BEFORE_CONDITION = /\b(?:WHERE|WHEN|ON|SELECT|AND|OR|NOT) *$/;

/** Where a part ends: before the bracket that closes around it, a semicolon, or what ends it at its depth. */
function endOf(sql: string, start: number, isEnd: (rest: string) => boolean): number {
  for (let index = start, depth = 0; index < sql.length; index++) {
    const character = sql.charAt(index);
    const isWithinWord = /\w/.test(character) && /\w/.test(sql.charAt(index - 1));
    if (depth === 0 && (/[);]/.test(character) || (!isWithinWord && isEnd(sql.slice(index))))) return index;
    depth += Number(character === "(") - Number(character === ")");
  }
  return sql.length;
}

/** Where the condition begins that ends at a place. */
function beginOf(sql: string, end: number): number {
  for (let index = end, depth = 0; index > 0; index--) {
    const before = sql[index - 1];
    if (depth === 0 && (before === "(" || (index < end && BEFORE_CONDITION.test(sql.slice(0, index))))) return index;
    depth += Number(before === ")") - Number(before === "(");
  }
  return 0;
}

/** Each part of a text of SQL that can be left out: a condition of several, a clause, a word that restricts. */
export function omissionsOf(sql: string): Edit[] {
  const places = (pattern: RegExp) =>
    [...sql.matchAll(pattern)].map(({ 0: word, index }) => [index, index + word.length] as const);
  const isClause = (rest: string) => BEGINS_CLAUSE.test(rest);
  return [
    ...places(CONJUNCTION).flatMap(([start, end]) => [
      { start: beginOf(sql, start), end, text: " " },
      { start, end: endOf(sql, end, (rest) => isClause(rest) || ENDS_CONDITION.test(rest)), text: "" },
    ]),
    ...places(CLAUSE).map(([start, end]) => ({ start, end: endOf(sql, end, isClause), text: "" })),
    ...places(WORD).map(([start, end]) => ({ start, end, text: "" })),
  ];
}
