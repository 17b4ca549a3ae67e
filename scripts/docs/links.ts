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
  return linksOf(page)
    .map(({ href }) => href)
    .filter((link) => !ABSOLUTE.test(link) && !isThere(page, root, link));
}

/** The numbers of a Markdown file that link to a file of the code, such as `[64](../body.ts)`, and are not in that file. */
export function findWrongNumbers(page: string, root: string): { number: string; href: string }[] {
  return linksOf(page)
    .filter(({ href }) => CODE.test(href) && isThere(page, root, href))
    .flatMap(({ text, href }) => {
      const known = numbersOf(readFileSync(targetOf(page, root, href), "utf8"));
      // The code may have milliseconds.
      const wrong = numbersOf(text).filter((number) => !known.includes(number) && !known.includes(number * 1_000));
      return wrong.map((number) => ({ number: String(number), href }));
    });
}

const CODE = /\.(?:ts|js|mjs|toml|yml)$/;

/** The numbers in a text, with commas or underscores between the thousands. */
function numbersOf(text: string): number[] {
  return (text.match(/(?<![\w.])\d[\d_,]*(?:\.\d+)?/g) ?? []).map((number) => Number(number.replaceAll(/[_,]/g, "")));
}

function linksOf(page: string): { href: string; text: string }[] {
  const links: { href: string; text: string }[] = [];
  const marked = new Marked({
    walkTokens(token) {
      if (token.type === "link" || token.type === "image")
        links.push({ href: String(token["href"]), text: token.text });
    },
  });
  marked.parse(readFileSync(page, "utf8"), { async: false });
  return links;
}

function targetOf(page: string, root: string, link: string): string {
  const [path = ""] = link.split("#");
  return path === "" ? page : path.startsWith("/") ? join(root, path) : resolve(dirname(page), path);
}

function isThere(page: string, root: string, link: string): boolean {
  const [, heading] = link.split("#");
  const target = targetOf(page, root, link);
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
