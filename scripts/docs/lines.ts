/** Characters of a line of prose. */
export const MAX_LINE_LENGTH = 120;

const FENCE = /^\s*(?:```|~~~)/;
const TABLE_ROW = /^\s*\|/;
const LINK_TARGET = /\]\([^)]*\)/g;
const URL = /https?:\/\/\S+/g;

/** The numbers of the lines of a Markdown text that are too long. Code blocks, tables, and the addresses of links do not count. */
export function findLongLines(markdown: string): number[] {
  let inCode = false;
  return markdown.split("\n").flatMap((line, index) => {
    if (FENCE.test(line)) inCode = !inCode;
    if (inCode || TABLE_ROW.test(line)) return [];
    const visible = line.replace(LINK_TARGET, "]").replace(URL, "");
    return [...visible].length > MAX_LINE_LENGTH ? [index + 1] : [];
  });
}
