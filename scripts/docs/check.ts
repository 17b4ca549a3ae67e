import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type Tables, withTables } from "./generated.ts";
import { findLongLines, MAX_LINE_LENGTH } from "./lines.ts";
import { findBrokenLinks } from "./links.ts";

/**
 * Everything that is wrong with a page, one line each.
 *
 * @param root the repository.
 * @param page its path in there.
 * @param figures words that the page has to contain.
 */
export function findFaults(root: string, page: string, tables: Tables, figures: readonly string[] = []): string[] {
  const path = join(root, page);
  const text = readFileSync(path, "utf8");
  return [
    ...(withTables(text, tables) === text ? [] : [`${page} is stale. Run npm run generate:docs.`]),
    ...findMissing(text, figures).map((words) => `${page} does not say "${words}", which follows from the code.`),
    ...findBrokenLinks(path, root).map((link) => `${page}: the link to ${link} leads nowhere.`),
    ...findLongLines(text).map((line) => `${page}:${line} is longer than ${MAX_LINE_LENGTH} characters.`),
  ];
}

/** The words that a Markdown text does not contain, wherever its lines break. */
function findMissing(markdown: string, figures: readonly string[]): string[] {
  const text = markdown.replaceAll(/\s+/g, " ");
  return figures.filter((words) => !text.includes(words));
}
