import { isText } from "./exact/text.ts";

/** Maximum number of characters in the name of an animal or a category. */
export const MAX_NAME_CHARACTERS = 255;

/** Any character that is not white space. JavaScript's `\s` is Unicode's White_Space property with U+FEFF and without U+0085. */
const NOT_WHITE_SPACE = /[^\s\u0085]/;

/** Whether a text is a name: it has 1 to `MAX_NAME_CHARACTERS` characters, not only white space. */
export function isName(text: string): boolean {
  return isText(text, MAX_NAME_CHARACTERS) && NOT_WHITE_SPACE.test(text);
}
