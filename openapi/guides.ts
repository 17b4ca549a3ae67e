// The pages of docs/ that are for users of the API, as HTML.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Marked } from "marked";
import { getHeadingList, gfmHeadingId } from "marked-gfm-heading-id";

const DOCS = join(import.meta.dirname, "../docs");

/** The published guides: the page in docs/, and its title. */
export const GUIDES = {
  orders: "Selling an animal",
  errors: "Errors",
  guarantees: "Guarantees",
  keys: "API keys",
  versioning: "Versioning",
};

export interface Guide {
  path: string;
  title: string;
  /** The first paragraph, without its links. */
  summary: string;
  sections: { id: string; title: string }[];
  html: string;
}

export const guides: Guide[] = Object.entries(GUIDES).map(([name, title]) => {
  const markdown = readFileSync(join(DOCS, `${name}.md`), "utf8");
  const marked = new Marked(gfmHeadingId());
  const html = marked.parse(markdown, { async: false });
  const sections = getHeadingList()
    .filter(({ level }) => level === 2)
    .map(({ id, raw }) => ({ id, title: raw }));
  return {
    path: `/docs/${name}`,
    title,
    summary: firstParagraph(markdown),
    sections,
    html: fitForPhones(withPageLinks(html)).replace("<h2", `${contents(sections)}<h2`),
  };
});

/** Elements wider than a phone scroll on their own, also with the keyboard. Code in a table wraps at its underscores. */
function fitForPhones(html: string): string {
  return html
    .replaceAll(/<(table|pre)>/g, '<$1 tabindex="0">')
    .replaceAll(/<td><code>\w+<\/code>/g, (cell) => cell.replaceAll("_", "_<wbr>"));
}

function contents(sections: Guide["sections"]): string {
  const list = sections.map(({ id, title }) => `<li><a href="#${id}">${title}</a></li>`);
  return `<nav aria-label="On this page"><ul>${list.join("")}</ul></nav>`;
}

/** Rewrites the links between the pages of the repository, which end in .md. A link to an unpublished page becomes plain text. */
function withPageLinks(html: string): string {
  return html
    .replaceAll(/<a href="([\w-]+)\.md(#[\w-]+)?">(.*?)<\/a>/g, (_, page, hash = "", text) =>
      page in GUIDES ? `<a href="/docs/${page}${hash}">${text}</a>` : text,
    )
    .replaceAll('<a href="../examples/clients/', '<a href="/docs/examples/');
}

function firstParagraph(markdown: string): string {
  const paragraph = markdown.split("\n\n")[1];
  if (paragraph === undefined) throw new Error("A guide has no text");
  return paragraph.replaceAll(/\[(.*?)\]\(.*?\)/g, "$1").replace(/:$/, ".");
}
