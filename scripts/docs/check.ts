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
 */
export function findFaults(root: string, page: string, tables: Tables): string[] {
  const path = join(root, page);
  const text = readFileSync(path, "utf8");
  return [
    ...(withTables(text, tables) === text ? [] : [`${page} is stale. Run npm run generate:docs.`]),
    ...findBrokenLinks(path, root).map((link) => `${page}: the link to ${link} leads nowhere.`),
    ...findLongLines(text).map((line) => `${page}:${line} is longer than ${MAX_LINE_LENGTH} characters.`),
  ];
}
