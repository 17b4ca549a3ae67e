// Writes statements as `readStatements` of src/db/stand-in.ts reads them. Many are alike, so each is written as edits of another one.
import { EDIT_SEPARATOR, nameOf, SAME_TABLE, SEPARATOR, SPACE, TABLE, ZERO } from "../src/db/stand-in.ts";

/** The largest number that a line can have. Its character is the last printable one of ASCII. */
const MOST = 126 - ZERO;
/** What an edit costs, in characters that it could insert instead. Measured after gzip. */
const EDIT_COST = 20;
/** Salts to try. With 300 statements, one in six gives two of them the same name. */
const SALTS = 100;

/**
 * @param statements the SQL of each, by its calls.
 * @throws Error when two would have one name with every salt.
 */
export function writeStatements(statements: ReadonlyMap<string, string>): string {
  const sorted = [...statements]
    .map(([calls, sql]) => ({ calls, words: withoutTable(sql).split(SPACE) }))
    .toSorted((a, b) => (a.words.join(" ") < b.words.join(" ") ? -1 : 1));
  /** How many other lines each line needs. */
  const depths: number[] = [];
  const lines = sorted.map(({ words }, index) => {
    let best = { back: 0, likeness: 0, depth: 0, other: [] as string[] };
    for (let back = 1; back <= Math.min(index, MOST); back++) {
      const other = sorted[index - back]?.words ?? [];
      const depth = (depths[index - back] ?? 0) + 1;
      const { start, end } = commonWords(other, words);
      // A line that needs fewer others is read sooner.
      const likeness = start + end - depth;
      if (likeness > best.likeness) best = { back, likeness, depth, other };
    }
    depths.push(best.depth);
    return numeral(best.back) + editsOf(best.other, words);
  });
  for (let salt = 1; salt < 2 * SALTS; salt += 2) {
    const names = sorted.map(({ calls }) => nameOf(calls, salt));
    if (new Set(names).size === names.length) return [salt, names.join(""), ...lines].join(SEPARATOR);
  }
  throw new Error("Two statements have one name with every salt");
}

const numeral = (number: number) => String.fromCharCode(ZERO + number);

/** SQL in which only the first mention of its first table has the name. */
function withoutTable(sql: string): string {
  const table = TABLE.exec(sql);
  if (table === null) return sql;
  const place = table.index + table[0].length;
  return sql.slice(0, place) + sql.slice(place).replaceAll(table[0], SAME_TABLE);
}

/** How many words two statements have in common at the start, and then at the end. */
function commonWords(a: readonly string[], b: readonly string[]): { start: number; end: number } {
  const shorter = Math.min(a.length, b.length);
  let [start, end] = [0, 0];
  while (start < shorter && a[start] === b[start]) start++;
  while (end < shorter - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  return { start, end };
}

/** An edit, and those before it. It turns the words `from` to `to` of one statement into the words `first` to `last` of another. */
interface Edits {
  cost: number;
  from: number;
  to: number;
  first: number;
  last: number;
  earlier?: Edits | undefined;
}

/** The cheapest edits that turn some words into others, as a line has them. */
function editsOf(before: readonly string[], after: readonly string[]): string {
  const { start, end } = commonWords(before, after);
  const inOrder: Edits[] = [];
  let edits = cheapestEdits(before.slice(start, before.length - end), after.slice(start, after.length - end));
  for (; edits.earlier !== undefined; edits = edits.earlier) inOrder.unshift(edits);
  // The words that both start with are kept before the first edit.
  let place = -start;
  return inOrder
    .flatMap(({ from, to, first, last }) => {
      const parts: string[] = [];
      let [kept, removed] = [from - place, to - from];
      for (; kept > MOST; kept -= MOST) parts.push(numeral(MOST) + numeral(0));
      for (; removed > MOST; removed -= MOST, kept = 0) parts.push(numeral(kept) + numeral(MOST));
      place = to;
      return [...parts, numeral(kept) + numeral(removed) + after.slice(start + first, start + last).join(" ")];
    })
    .join(EDIT_SEPARATOR);
}

/** A shortest path (dynamic programming) over the places of both: each word is kept, or an edit removes or inserts it. */
function cheapestEdits(before: readonly string[], after: readonly string[]): Edits {
  const none: Edits = { cost: 0, from: 0, to: 0, first: 0, last: 0 };
  const impossible: Edits = { ...none, cost: Number.POSITIVE_INFINITY };
  const cheaper = (a = impossible, b = impossible) => (a.cost <= b.cost ? a : b);
  /** Of the row before and of this one: the cheapest edits up to each place of `after`, where the last word is kept, and where it is edited. */
  let [keptAbove, editedAbove]: [Edits[], Edits[]] = [[], []];
  for (let to = 0; to <= before.length; to++) {
    const [kept, edited]: [Edits[], Edits[]] = [[], []];
    for (let last = 0; last <= after.length; last++) {
      const isSame = to > 0 && last > 0 && before[to - 1] === after[last - 1];
      const same = isSame ? cheaper(keptAbove[last - 1], editedAbove[last - 1]) : impossible;
      kept.push(to === 0 && last === 0 ? none : same);
      const earlier = kept[last] as Edits;
      const begun = { cost: earlier.cost + EDIT_COST, from: to, to, first: last, last, earlier };
      const removing = { ...(editedAbove[last] ?? impossible), to };
      const inserting = edited[last - 1] ?? impossible;
      const cost = inserting.cost + (after[last - 1]?.length ?? 0) + 1;
      edited.push(cheaper(cheaper(begun, removing), { ...inserting, cost, last }));
    }
    [keptAbove, editedAbove] = [kept, edited];
  }
  return cheaper(keptAbove.at(-1), editedAbove.at(-1));
}
