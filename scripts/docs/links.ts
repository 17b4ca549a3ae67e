import { readFileSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { Marked } from "marked";
import { getHeadingList, gfmHeadingId } from "marked-gfm-heading-id";

/** A link with a scheme (RFC 3986, section 3.1), or to another host. */
const ABSOLUTE = /^(?:[a-z][a-z0-9+.-]*:|\/\/)/i;

/**
 * The broken relative links of a Markdown file: their file or heading does not exist.
 *
 * @param root the folder for links with a leading slash, as on GitHub.
 */
export function findBrokenLinks(page: string, root: string): string[] {
  return linksOf(readFileSync(page, "utf8")).filter((link) => !ABSOLUTE.test(link) && !isThere(page, root, link));
}

function linksOf(markdown: string): string[] {
  const links: string[] = [];
  const marked = new Marked({
    walkTokens(token) {
      if (token.type === "link" || token.type === "image") links.push(String(token["href"]));
    },
  });
  marked.parse(markdown, { async: false });
  return links;
}

function isThere(page: string, root: string, link: string): boolean {
  const [path = "", heading] = link.split("#");
  const target = path === "" ? page : path.startsWith("/") ? join(root, path) : resolve(dirname(page), path);
  // The address of a page has no suffix.
  const found = statSync(target, { throwIfNoEntry: false }) ?? statSync(`${target}.html`, { throwIfNoEntry: false });
  if (found === undefined || heading === undefined) return found !== undefined;
  return found.isFile() && target.endsWith(".md") && headingsOf(target).includes(heading);
}

/** The anchors of the headings of a Markdown file, as GitHub makes them. */
function headingsOf(page: string): string[] {
  new Marked(gfmHeadingId()).parse(readFileSync(page, "utf8"), { async: false });
  return getHeadingList().map(({ id }) => id);
}
