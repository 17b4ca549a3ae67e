import { isText } from "./exact/text.ts";

/** Characters of a name, of an animal or of a category. */
export const MAX_NAME_CHARACTERS = 255;

/**
 * Any character that is not white space: JavaScript's `\s` is Unicode's White_Space property and U+FEFF, but for U+0085. Spelled
 * with `\s`, because the document publishes it, and code generators stumble over a literal U+2028.
 */
export const NOT_WHITE_SPACE = /[^\s\u0085]/;

/** Whether a text is a name: it has 1 to `MAX_NAME_CHARACTERS` characters, not only white space. */
export function isName(text: string): boolean {
  return isText(text, MAX_NAME_CHARACTERS) && NOT_WHITE_SPACE.test(text);
}
