import { readFileSync } from "node:fs";
import { join } from "node:path";
import { withoutMarks } from "../../openapi/marks.ts";
import packageJson from "../../package.json" with { type: "json" };
import { type Tables, withTables } from "./generated.ts";
import { findBrokenLinks } from "./links.ts";

/** Statements about the extent of the service, which the next operation makes wrong. CHANGELOG.md tells the past. */
const EXTENT =
  /\b(?:(?:one|two|three|four|five|six|seven|eight|nine|ten|\d+) (?:more )?(?:guides|tables|languages|operations|(?:error )?codes|types of events)|left out)\b/gi;
const SCRIPT = /\bnpm run (?:--silent )?([a-z][\w:-]*)/g;

/**
 * One line for each fault of a page.
 *
 * @param root the repository.
 * @param page its path in the repository.
 * @param figures words that the page has to contain.
 */
export function findFaults(root: string, page: string, tables: Tables, figures: readonly string[] = []): string[] {
  const path = join(root, page);
  const text = readFileSync(path, "utf8");
  const extents = page === "CHANGELOG.md" ? [] : (text.match(EXTENT) ?? []);
  const scripts = [...text.matchAll(SCRIPT)].map(([, name = ""]) => name);
  return [
    ...(withTables(text, tables) === text ? [] : [`${page} is stale. Run npm run generate:docs.`]),
    ...findMissing(text, figures).map((words) => `${page} does not say "${words}", which follows from the code.`),
    ...extents
      .filter((words) => !figures.some((phrase) => phrase.includes(words)))
      .map((words) => `${page} says "${words}". Take it from the code (scripts/docs/figures.ts), or do not say it.`),
    ...findBrokenLinks(path, root).map((link) => `${page}: the link to ${link} leads nowhere.`),
    ...scripts.filter((name) => !(name in packageJson.scripts)).map((name) => `${page}: there is no script ${name}.`),
  ];
}

/** The phrases that a Markdown text does not contain, regardless of line breaks. */
function findMissing(markdown: string, figures: readonly string[]): string[] {
  const text = withoutMarks(markdown).replaceAll(/\s+/g, " ");
  return figures.filter((words) => !text.includes(words));
}
