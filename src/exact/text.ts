/**
 * Whether D1 stores a text exactly, and it has at most so many characters. Characters are code points, as in JSON Schema: "🐕" is
 * one of them, and two UTF-16 units. D1 would replace a lone surrogate.
 */
export function isText(text: string, maxCharacters: number): boolean {
  if (text.length > 2 * maxCharacters || !text.isWellFormed()) return false;
  return text.length <= maxCharacters || [...text].length <= maxCharacters;
}
