// The rules of a search by name, in plain loops: every test that searches compares with them.

const IGNORED = /\p{Default_Ignorable_Code_Point}|[ʹ-ˁ\u00B7]/u;
const MARK = /\p{M}/u;
const REMOVED_MARK = /\p{Diacritic}|\p{Script=Inherited}|\p{Script=Hebrew}|\p{Script=Arabic}/u;
const SOUND_MARKS = ["\u3099", "\u309A"];
const IN_WORD = /[\p{L}\p{N}\p{M}]/u;
const WITHOUT_SPACES = ["Han", "Hiragana", "Katakana", "Thai", "Lao", "Khmer", "Myanmar"].map(
  (script) => new RegExp(`\\p{Script_Extensions=${script}}`, "u"),
);
const LETTERS = new Map([
  ...Object.entries({ ß: "ss", æ: "ae", œ: "oe", ø: "o", đ: "d", ð: "d", ł: "l", þ: "th", ħ: "h", ı: "i", ς: "σ" }),
  ...Object.entries({ ى: "ي", ی: "ي", ک: "ك", ة: "ه", ٱ: "ا", "\u0640": "" }),
]);

/** The characters of a text that count. */
function charactersOf(text: string): string[] {
  const characters: string[] = [];
  for (const character of text.normalize("NFKD")) {
    if (IGNORED.test(character)) continue;
    if (SOUND_MARKS.includes(character)) {
      const composed = `${characters.at(-1)}${character}`.normalize("NFC");
      if (characters.length > 0 && [...composed].length === 1) characters[characters.length - 1] = composed;
      else characters.push(character);
    } else if (!MARK.test(character) || !REMOVED_MARK.test(character)) {
      const small = character.toLowerCase();
      characters.push(...(LETTERS.get(small) ?? small));
    }
  }
  return characters.map((character) => {
    const code = character.codePointAt(0) ?? 0;
    const isKatakana = (code >= 0x30a1 && code <= 0x30f6) || code === 0x30fd || code === 0x30fe;
    return isKatakana ? String.fromCodePoint(code - 0x60) : character;
  });
}

const isWithoutSpaces = (character = "") => WITHOUT_SPACES.some((script) => script.test(character));
/** Whether a word that begins with `next` may begin after `before`. */
const isStart = (before: string | undefined, next = "") =>
  before === undefined || !IN_WORD.test(before) || (isWithoutSpaces(before) && !isWithoutSpaces(next));

function wordsOf(characters: string[]): string[][] {
  const words: string[][] = [];
  for (const [place, character] of characters.entries()) {
    if (!IN_WORD.test(character)) continue;
    if (isStart(characters[place - 1], character)) words.push([]);
    words.at(-1)?.push(character);
  }
  return words;
}

/** Whether each word of a text begins a word of a name. A text without a word finds nothing. */
export function isFound(name: string, text: string): boolean {
  const characters = charactersOf(name).slice(0, 1_024);
  const words = wordsOf(charactersOf(text));
  return (
    words.length > 0 &&
    words.every((word) =>
      characters.some(
        (_, place) =>
          word.every((character, index) => characters[place + index] === character) &&
          (isWithoutSpaces(word[0]) || isStart(characters[place - 1], word[0])),
      ),
    )
  );
}
