import type { Stored } from "../db/resource.ts";
import { type Found, limitOf, type Listed, type PageQuery, toPage } from "../http/paging.ts";
import { foldedName } from "./fold.ts";
import type { Animal } from "./shape.ts";
import { termsOfSearch } from "./terms.ts";

export const MAX_SEARCH_CHARACTERS = 255;
/** Animals that a request examines at most. It may read them twice. */
export const WINDOW = 10_000;
/** Events after the place of the index that a search reads at most. */
export const MAX_CHANGES = 2_000;
/** Bytes of a fold in which SQL looks for words. */
export const MAX_BYTES = 96;
/** Longer names, and rows without a fold, that a request leaves to code at most. */
export const MAX_UNKNOWN = 200;
/** Characters of a word that SQL looks at, with the space before it. */
const MAX_CHARACTERS = 17;

/** The parameters of a search, for its longest words. */
export const WORDS = ["word1", "word2", "word3", "word4", "word5", "word6", "word7", "word8"] as const;
/** Every name contains an empty one. */
export type Words = { [name in (typeof WORDS)[number]]: string };

/** What the index is asked: its terms, each in quotes, as a JSON array and as one expression of FTS5. */
export interface Terms {
  terms: string;
  match: string;
}

export function parametersOf(needles: readonly string[]): Words & Terms {
  const longest = needles.toSorted((a, b) => b.length - a.length);
  // By code points: D1 does not return half of a pair as it was (docs/standards.md).
  const cut = (needle = "") => [...needle].slice(0, MAX_CHARACTERS).join("");
  const words = Object.fromEntries(WORDS.map((name, index) => [name, cut(longest[index])])) as Words;
  const terms = termsOfSearch(needles);
  return { ...words, terms: JSON.stringify(terms), match: terms.join(" ") };
}

/** An animal that has the words as far as SQL knows, or the last one that a request examines, without a body. */
export interface Candidate extends Stored<Animal> {
  /** Rows beside those of a full page, at most. */
  more?: number;
}

/** Whether an animal has all words. Of those with a fold, SQL has looked at a part of them. */
export function hasWords({ body }: Stored<Animal>, needles: readonly string[]): boolean {
  if (body === "") return false;
  const name = foldedName((JSON.parse(body) as Animal).name);
  return needles.every((needle) => name.includes(needle));
}

/** The page of a search. It may have fewer animals than `limit`, or none, and still go on. */
export function pageOfSearch(query: PageQuery, needles: readonly string[], rows: Candidate[]): Found<Listed<Animal>[]> {
  const [first] = rows;
  const last = rows.at(-1);
  const isCut = last?.body === "" || rows.length > limitOf(query.limit) + (first?.more ?? 0);
  const found = rows.filter((row) => hasWords(row, needles));
  return toPage(query, found, isCut ? last : undefined);
}
