// The words of a name, and of a text that searches names. Callers bound their length: NFKD takes quadratic time for marks in a wrong
// order: 1.7 seconds for 32,000 of them (workerd 1.20261023.1).

import { lazy } from "../lazy.ts";

/** Characters of a folded name that count. NFKD makes a text at most 18 times as long (Unicode, UAX #15). */
const MAX_FOLDED = 1_024;

/** The characters of a word. They include the marks that are left. */
const WORD = String.raw`\p{L}\p{N}\p{M}`;
/** Those of the scripts that are written without spaces. */
const UNSPACED = String.raw`[${WORD}]&&[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]`;

const ASCII = /^[a-zA-Z0-9 ]*$/;
/**
 * The vowels of Indic scripts and of Thai are marks too, and stay. So do the sound marks of kana, U+3099 and U+309A. Apostrophes that are
 * letters, as in Hawaiʻi, and the middle dot, as in col·lecció, go.
 */
const IGNORED =
  /[\p{Default_Ignorable_Code_Point}\u02B9-\u02C1\xB7[[\p{M}&&[\p{Diacritic}\p{Script=Inherited}\p{Script=Arabic}]]--[\u3099\u309A]]]/gv;
const LETTERS: { [letter: string]: string } = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  ł: "l",
  þ: "th",
  ħ: "h",
  ı: "i",
  ς: "σ",
  // Alef maksura, the Persian yeh and kaf, teh marbuta, alef wasla, and tatweel, which only lengthens a word.
  "\u0649": "\u064A",
  "\u06CC": "\u064A",
  "\u06A9": "\u0643",
  "\u0629": "\u0647",
  "\u0671": "\u0627",
  "\u0640": "",
};
const LETTER = lazy(() => new RegExp(`[${Object.keys(LETTERS).join("")}]`, "g"));
const KANA_WITH_MARK = /[\u3041-\u30FF][\u3099\u309A]/g;
/** Those with a Hiragana, whose code is 96 less. */
const KATAKANA = /[\u30A1-\u30F6\u30FD\u30FE]/g;
/** A word also ends after a character of a script without spaces, if the next one is of another script. */
const WORDS = lazy(() => new RegExp(`[[${WORD}]--[${UNSPACED}]]+[${UNSPACED}]*|[${UNSPACED}]+`, "gv"));
const STARTS_UNSPACED = lazy(() => new RegExp(`^[${UNSPACED}]`, "v"));
/** A word is a run of other characters, then a run of these. Either may be empty. */
const HEAD = lazy(() => new RegExp(`^[^${UNSPACED}]*`, "v"));

/** A text without what does not count: case, diacritics and forms of compatibility. */
export function fold(text: string): string {
  return text
    .normalize("NFKD")
    .replace(IGNORED, "")
    .toLowerCase()
    .replace(LETTER(), (letter) => LETTERS[letter] ?? "")
    .replace(KANA_WITH_MARK, (pair) => pair.normalize("NFC"))
    .replace(KATAKANA, (letter) => String.fromCharCode(letter.charCodeAt(0) - 96));
}

const wordsIn = (folded: string): string[] => folded.match(WORDS()) ?? [];

/** The words of a name, each after a space. */
export function foldedName(name: string): string {
  return ASCII.test(name) ? ` ${name.toLowerCase()}` : ` ${wordsIn(fold(name).slice(0, MAX_FOLDED)).join(" ")}`;
}

/** What is stored of it: NULL for a name that SQL folds as well. */
export const storedFold = (name: string): string | null => (ASCII.test(name) ? null : foldedName(name));

/** The number of the rules of this file. When they change, the number does. */
export const RULES = "2";
/**
 * The names that rules 1 fold to something else, as a pattern of SQL's GLOB: those with a character that has a middle dot or an apostrophe
 * that is a letter, also after NFKD. All others keep the fold that the version before wrote.
 */
export const CHANGED = "\u00B7\u02B9-\u02C1\u0374\u0387\u013F\u0140\u0149\u1E9A";
/** GLOB stops at the first NUL. */
const HAS_CHANGED = new RegExp(`^[^\0]*[${CHANGED}]`);
/** What `storedFold` comes from: an earlier version that renames an animal leaves both columns as they are. */
export const foldedOf = (name: string): string | null =>
  ASCII.test(name) ? null : (HAS_CHANGED.test(name) ? RULES : "1") + name;

/**
 * What a folded name contains if it has every word of a text: the words, each once. Each begins a word of the name. One that begins with a
 * character of a script without spaces may be anywhere in it.
 */
export const needlesOf = (text: string): string[] =>
  [...new Set(wordsIn(fold(text)))].map((word) => (STARTS_UNSPACED().test(word) ? word : ` ${word}`));

/** A word of a folded text: the characters before those of scripts without spaces, and these. */
export function partsOf(word: string): { head: string[]; run: string[] } {
  const [head = ""] = HEAD().exec(word) ?? [];
  return { head: [...head], run: Array.from(word.slice(head.length)) };
}
