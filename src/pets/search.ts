import { and, type Placeholder, type SQL, sql } from "drizzle-orm";
import { unionAll } from "drizzle-orm/sqlite-core";
import type { Sort } from "../db/page.ts";
import { type Stored, storedColumns } from "../db/resource.ts";
import type { Built, QueryBuilder } from "../db/statement.ts";
import { isText } from "../exact/text.ts";
import { type Found, limitOf, type Listed, type PageQuery, toPage } from "../http/paging.ts";
import { type Animal, pet } from "./shape.ts";
import { pets } from "./table.ts";

export const MAX_SEARCH_CHARACTERS = 64;
export const MAX_WORDS = 5;
/** Animals that a request examines at most. It may read them twice, and a category two rows ahead: 10,000 rows. */
export const WINDOW = 4_998;
/** Rows that it gets at most. */
export const MAX_CANDIDATES = 200;

const MARKS = /\p{M}+/gu;
const WORD = /[\p{L}\p{N}]+/gu;

/**
 * The words of a text: runs of letters and digits, without case and diacritics. Compatibility forms count as the plain ones (NFKD), and
 * the two small letters sigma as one. Takes linear time. NFKD makes a text at most 18 times as long (Unicode, UAX #15).
 */
export function wordsOf(text: string): string[] {
  const folded = text.normalize("NFKD").replace(MARKS, "").toLowerCase().replaceAll("ς", "σ");
  return folded.match(WORD) ?? [];
}

/** Whether each of the words begins a word of the name. */
export function hasWords(name: string, words: readonly string[]): boolean {
  const text = ` ${wordsOf(name).join(" ")}`;
  return words.every((word) => text.includes(` ${word}`));
}

/** Whether a text may be searched for. */
export function isSearch(text: string): boolean {
  if (!isText(text, MAX_SEARCH_CHARACTERS)) return false;
  const { length } = wordsOf(text);
  return length >= 1 && length <= MAX_WORDS;
}

/** The names of the parameters of a search. */
const WORDS = ["word1", "word2", "word3", "word4", "word5"] as const;
/** A word for each. Every name contains an empty one. */
export type Words = { [name in (typeof WORDS)[number]]: string };

export function parametersOf(text: string): Words {
  const words = wordsOf(text);
  return Object.fromEntries(WORDS.map((name, index) => [name, words[index] ?? ""])) as Words;
}

/**
 * The candidates in a window of animals, and the last row of a full window, without a body. At most `MAX_CANDIDATES` rows: the window ends
 * with the last of them. It reads the window, and when there are fewer candidates, once more to find its end.
 *
 * Candidates are all animals that match, and some others, because SQL knows neither words nor letters beyond ASCII.
 *
 * @param parts the conditions of the animals, mutually exclusive. An index holds the rows of each in the order of ids.
 */
export function candidates(
  db: QueryBuilder,
  parameter: (name: keyof Words) => Placeholder,
  parts: readonly (SQL | undefined)[],
  sort: Sort,
): Built<Stored<Animal>[]> {
  const inOrder = (limit: number, offset: number) => {
    const [first, ...others] = parts.map((part) => db.select().from(pets).where(part));
    const rows = others.reduce((all, other) => unionAll(all, other) as never, first as NonNullable<typeof first>);
    // Its name is that of the table, so that the columns have their names.
    return rows
      .orderBy(sort === "id" ? sql`id` : sql`id DESC`)
      .limit(limit)
      .offset(offset)
      .as("pets");
  };
  const contains = WORDS.map((name) => sql`instr(lower(${pets.name}), ${parameter(name)})`);
  const found = db
    .select(storedColumns(pet))
    .from(inOrder(WINDOW, 0))
    .where(sql`(length(${pets.name}) <> octet_length(${pets.name}) OR ${and(...contains)})`);
  const end = db.select({ ...storedColumns(pet), body: sql`''` }).from(inOrder(1, WINDOW - 1));
  return unionAll(found, end as never).limit(MAX_CANDIDATES);
}

/** The page of a search. It may have fewer animals than `limit`, or none, and still go on. */
export function pageOfSearch(query: PageQuery, text: string, rows: Stored<Animal>[]): Found<Listed<Animal>[]> {
  const words = wordsOf(text);
  const found: Stored<Animal>[] = [];
  for (const row of rows) {
    if (found.length > limitOf(query.limit)) break;
    if (row.body !== "" && hasWords((JSON.parse(row.body) as Animal).name, words)) found.push(row);
  }
  const last = rows.at(-1);
  return toPage(query, found, last?.body === "" || rows.length === MAX_CANDIDATES ? last : undefined);
}
