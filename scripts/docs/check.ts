import { readFileSync } from "node:fs";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { type Tables, withTables } from "./generated.ts";
import { findBrokenLinks, findWrongNumbers } from "./links.ts";

/** Statements about the extent of the service, which the next operation makes wrong. CHANGELOG.md tells the past. */
const EXTENT =
  /\b(?:(?:one|two|three|four|five|six|seven|eight|nine|ten|\d+) (?:more )?(?:guides|tables|languages|operations|(?:error )?codes|types of events)|left out)\b/gi;
const SCRIPT = /\bnpm run (?:--silent )?([a-z][\w:-]*)/g;

/**
 * One line for each fault of a page.
 *
 * @param root the repository.
 * @param page its path in the repository.
 */
export function findFaults(root: string, page: string, tables: Tables): string[] {
  const path = join(root, page);
  const text = readFileSync(path, "utf8");
  const extents = page === "CHANGELOG.md" ? [] : (text.match(EXTENT) ?? []);
  const scripts = [...text.matchAll(SCRIPT)].map(([, name = ""]) => name);
  return [
    ...(withTables(text, tables) === text ? [] : [`${page} is stale. Run npm run generate:docs.`]),
    ...extents.map((words) => `${page} says "${words}". Let the code say it, or do not say it.`),
    ...findWrongNumbers(path, root).map(({ number, href }) => `${page} says ${number}, which is not in ${href}.`),
    ...findBrokenLinks(path, root).map((link) => `${page}: the link to ${link} leads nowhere.`),
    ...scripts.filter((name) => !(name in packageJson.scripts)).map((name) => `${page}: there is no script ${name}.`),
  ];
}
