/**
 * Whether a text has at most `maxCharacters` characters and D1 stores it exactly. Characters are code points, as in JSON Schema:
 * "🐕" is one code point and two UTF-16 units. D1 stores half of a pair as bytes of no text (docs/standards.md).
 */
export function isText(text: string, maxCharacters: number): boolean {
  if (text.length > 2 * maxCharacters || !text.isWellFormed()) return false;
  return text.length <= maxCharacters || [...text].length <= maxCharacters;
}
