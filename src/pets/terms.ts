// The terms of the index `pets_words`. It has every beginning of every word as a term of its own, so that each word of a search is one term,
// however long it is. FTS5's own search for a prefix merges all rows of all words that begin with it before it returns the first.

import { partsOf } from "./fold.ts";

/** Characters of a term. The beginnings of a longer word differ in a hash. */
const MAX_CHARACTERS = 16;
/** Before a hash: no word has it, because it is neither a letter nor a number nor a mark. */
const HASHED = "\uF8FF";
/** Terms of a search at most. Code compares the names with the whole text. */
export const MAX_TERMS = 8;

/** The beginnings of a word, the shortest first. The hash is FNV-1a: it makes each from the one before. */
function beginnings(characters: readonly string[]): string[] {
  let [text, hash] = ["", 0x811c9dc5];
  return characters.map((character, index) => {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193) >>> 0;
    if (index >= MAX_CHARACTERS) return `${HASHED}${hash.toString(36)}`;
    return (text += character);
  });
}

/** The pairs of characters that stand side by side in a run without spaces. */
const pairs = (run: readonly string[]): string[] => run.slice(1).map((character, index) => `${run[index]}${character}`);

/** What the index holds of a folded name, separated by spaces. */
export function termsOfName(folded: string): string {
  const terms = folded
    .trimStart()
    .split(" ")
    .flatMap((word) => {
      const { head, run } = partsOf(word);
      return [...beginnings(head), ...run, ...pairs(run)];
    });
  return [...new Set(terms)].join(" ");
}

/** Terms that each name with all needles has, the longest words first. A needle has letters, numbers and marks only. */
export function termsOfSearch(needles: readonly string[]): string[] {
  const terms = needles
    .toSorted((a, b) => b.length - a.length)
    .flatMap((needle) => {
      const { head, run } = partsOf(needle.trimStart());
      return [...beginnings(head).slice(-1), ...(run.length === 1 ? run : pairs(run))];
    });
  return [...new Set(terms)].slice(0, MAX_TERMS).map((term) => `"${term}"`);
}
