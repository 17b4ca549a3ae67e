// The pages of docs/ that are for users of the API, as HTML.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Marked, parseInline, type Token, type Tokens } from "marked";
import { getHeadingList, gfmHeadingId } from "marked-gfm-heading-id";
import { WHEN } from "./errors.ts";
import { type ErrorCode, ERRORS } from "../src/errors.ts";
import { codeBlock } from "./code.ts";
import { diagram } from "./diagram.ts";
import { withoutMarks } from "./marks.ts";
import { packageTable, readPackages } from "./packages.ts";

const ROOT = join(import.meta.dirname, "..");

/** The published guides: their name, and their title. */
export const GUIDES = {
  shop: "Build a shop",
  browsers: "Browsers and phones",
  books: "Keep the books",
  offline: "Work offline",
  client: "TypeScript client",
  orders: "Selling an animal",
  events: "Keeping a copy",
  webhooks: "Receiving events",
  errors: "Errors",
  guarantees: "Guarantees",
  keys: "API keys",
  versioning: "Versioning",
  "whats-new": "What is new",
};

/** The page of a guide, from the root of the repository. */
export const sourceOf = (name: string) => (name === "client" ? "client/README.md" : `docs/${name}.md`);

interface Section {
  /** Of its heading. */
  level: number;
  id: string;
  title: string;
  /** The first sentence, without its links. */
  summary: string;
}

export interface Guide {
  path: string;
  title: string;
  /** The first paragraph, without its links. */
  summary: string;
  sections: Section[];
  html: string;
}

/** The first page: what the service is, its guides, and the first requests. start.js fills in what depends on the host. */
export function startPage(introduction: string): Guide {
  const quickStart = readFileSync(join(import.meta.dirname, "quick-start.md"), "utf8")
    .replaceAll("{base}", "{origin}/v1")
    .replaceAll("{origin}", "https://petstore.example")
    .replace("{key}", "petstore_...")
    .replace("{client package}", readPackages().at(-1)?.file ?? "");
  const list = guides.map(({ path, title, summary }) => `- [${title}](${path}): ${summary.replaceAll("\n", " ")}`);
  const reference = "- [Reference](/docs/reference): every operation, with a console to try it.";
  const markdown = [`# Pet Store Service`, introduction, quickStart, "## Guides", [reference, ...list].join("\n")];
  return pageOf("/docs", "Start", markdown.join("\n\n"));
}

export const guides: Guide[] = Object.entries(GUIDES).map(([name, title]) => {
  const source = withoutMarks(readFileSync(join(ROOT, sourceOf(name)), "utf8"));
  return pageOf(`/docs/${name}`, title, source.replace("<!-- packages -->", packageTable()));
});

function pageOf(path: string, title: string, markdown: string): Guide {
  const marked = new Marked(gfmHeadingId(), {
    renderer: { code: ({ lang, text }) => (lang === "mermaid" ? diagram(text) : codeBlock(lang ?? "", text)) },
  });
  const html = marked.parse(markdown, { async: false });
  const tokens = marked.lexer(markdown).filter(({ type }) => type !== "space");
  const texts = tokens.filter((_, index) => tokens[index - 1]?.type === "heading");
  const sections = getHeadingList()
    .map(({ id, level, raw }, index) => ({ id, level, title: raw, summary: firstSentence(texts[index]) }))
    .filter(({ level }) => level > 1);
  return {
    path,
    title,
    summary: firstParagraph(markdown),
    sections,
    html: fitForPhones(withPageLinks(withConditions(html))).replace("<h2", `${contents(sections)}<h2`),
  };
}

/** Adds the status and the condition to the advice on each code, because links lead to the advice. */
function withConditions(html: string): string {
  return html.replaceAll(/<h3 id="(\w+)">.*<\/h3>/g, (heading, id) => {
    if (!(id in ERRORS)) return heading;
    const { status } = ERRORS[id as ErrorCode];
    const when = WHEN[id as ErrorCode];
    return `${heading}\n<p><strong>${status}</strong> ${parseInline(when, { async: false })}</p>`;
  });
}

/** A table wider than a phone scrolls on its own, also with the keyboard. Code in a table wraps at its underscores. */
function fitForPhones(html: string): string {
  return html
    .replaceAll("<table>", '<table tabindex="0">')
    .replaceAll(/(?<=<td>(?:<a [^>]*>)?)<code>\w+<\/code>/g, (cell) => cell.replaceAll("_", "_<wbr>"));
}

function contents(sections: Guide["sections"]): string {
  const list = sections
    .filter(({ level }) => level === 2)
    .map(({ id, title }) => `<li><a href="#${id}">${title}</a></li>`);
  return `<nav aria-label="On this page"><ul>${list.join("")}</ul></nav>`;
}

/** Rewrites the links between the pages of the repository, which end in .md. A link to an unpublished page becomes plain text. */
function withPageLinks(html: string): string {
  return html
    .replaceAll(/<a href="([\w/-]+)\.md(#[\w-]+)?">(.*?)<\/a>/g, (_, page, hash = "", text) =>
      page in GUIDES ? `<a href="/docs/${page}${hash}">${text}</a>` : text,
    )
    .replaceAll('<a href="../client/README.md', '<a href="/docs/client')
    .replaceAll(/<code>(\/docs\/\w+)<\/code>/g, '<a href="$1"><code>$1</code></a>')
    .replaceAll(/<a href="\.\.\/examples\/(?:clients\/)?/g, '<a href="/docs/examples/');
}

function firstParagraph(markdown: string): string {
  const paragraph = markdown.split("\n\n")[1];
  if (paragraph === undefined) throw new Error("A guide has no text");
  return withoutLinks(paragraph).replace(/:$/, ".");
}

/** Of a section that starts with a paragraph or a list. */
function firstSentence(start: Token | undefined): string {
  const text = start?.type === "list" ? (start as Tokens.List).items[0]?.text : start?.raw;
  const [sentence = ""] = /^\w.*?(?:\.(?=\s|$)|:$)/ms.exec(text ?? "") ?? [];
  return withoutLinks(sentence).replaceAll("\n", " ").replace(/:$/, ".");
}

function withoutLinks(markdown: string): string {
  return markdown.replaceAll(/\[(.*?)\]\(.*?\)/g, "$1");
}
