// The pages of docs/ that are for users of the API, as Markdown and as HTML.
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { Marked, type Token, type Tokens } from "marked";
import { getHeadingList, gfmHeadingId } from "marked-gfm-heading-id";
import { WHEN } from "./errors.ts";
import { codeBlock } from "./code.ts";
import { type ErrorCode, ERRORS, PLACEHOLDER } from "./content.ts";
import { diagram } from "./diagram.ts";
import { withoutMarks } from "./marks.ts";
import { packageTable, readPackages } from "./packages.ts";
import { GUIDES, sourceOf } from "./sources.ts";

const ROOT = join(import.meta.dirname, "..");

/** Code, which stays as it is, or a link. */
const CODE_OR_LINK = /^ *```[^]*?^ *```$|`[^`]*`|\[((?:`[^`]*`|[^\]`])*)\]\(([^)#]*)(#[^)]*)?\)/gm;

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
  /** Its file in the repository. */
  source: string;
  title: string;
  /** The first paragraph, without its links. */
  summary: string;
  sections: Section[];
  /** For programs: its links lead to Markdown. */
  markdown: string;
  html: string;
}

const QUICK_START = "openapi/quick-start.md";

/** The first page: what the service is, its guides, and the first requests. start.js fills in what depends on the host. */
export function startPage(introduction: string): Guide {
  const quickStart = readFileSync(join(ROOT, QUICK_START), "utf8")
    .replaceAll("{base}", "{origin}/v1")
    .replaceAll("{origin}", PLACEHOLDER)
    .replace("{key}", "petstore_...")
    .replace("{client package}", readPackages().at(-1)?.file ?? "");
  const list = guides.map(
    ({ source, title, summary }) => `- [${title}](../${source}): ${summary.replaceAll("\n", " ")}`,
  );
  const reference = "- [Reference](/docs/reference): every operation, with a console to try it.";
  const markdown = [
    `# Pet Store Service`,
    introduction,
    quickStart.trimEnd(),
    "## Guides",
    [reference, ...list].join("\n"),
  ];
  return pageOf("/docs", "Start", QUICK_START, markdown.join("\n\n"));
}

export const guides: Guide[] = Object.entries(GUIDES).map(([name, title]) => {
  const source = sourceOf(name);
  const markdown = readFileSync(join(ROOT, source), "utf8").replace("<!-- packages -->", packageTable());
  return pageOf(`/docs/${name}`, title, source, withoutMarks(markdown));
});

function pageOf(path: string, title: string, source: string, text: string): Guide {
  const marked = new Marked(gfmHeadingId(), {
    renderer: { code: ({ lang, text }) => (lang === "mermaid" ? diagram(text) : codeBlock(lang ?? "", text)) },
  });
  const html = marked.parse(withConditions(withPageLinks(text, source, "")), { async: false });
  const tokens = marked.lexer(text).filter(({ type }) => type !== "space");
  const texts = tokens.filter((_, index) => tokens[index - 1]?.type === "heading");
  const sections = getHeadingList()
    .map(({ id, level, raw }, index) => ({ id, level, title: raw, summary: firstSentence(texts[index]) }))
    .filter(({ level }) => level > 1);
  return {
    path,
    source,
    title,
    summary: firstParagraph(text),
    sections,
    markdown: `${withConditions(withPageLinks(text, source, ".md")).trimEnd()}\n`,
    html: fitForPhones(withNamedPages(html)).replace("<h2", `${contents(sections)}<h2`),
  };
}

/** Adds the status and the condition to the advice on each code, because links lead to the advice. */
function withConditions(markdown: string): string {
  return markdown.replaceAll(/^### `(\w+)`$/gm, (heading, code) => {
    if (!(code in ERRORS)) return heading;
    return `${heading}\n\n**${ERRORS[code as ErrorCode].status}** ${WHEN[code as ErrorCode]}`;
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

/** Rewrites the links between files of the repository. A link to a page that is not published becomes plain text. */
function withPageLinks(markdown: string, file: string, suffix: "" | ".md"): string {
  return markdown.replaceAll(CODE_OR_LINK, (whole, text?: string, target?: string, hash = "") => {
    if (text === undefined || target === undefined || target === "" || /^(?:https?:|\/)/.test(target)) return whole;
    const linked = normalize(join(dirname(file), target));
    const example = /^examples\/(?:clients\/)?([\w.-]+)$/.exec(linked)?.[1];
    if (example !== undefined) return `[${text}](/docs/examples/${example})`;
    const guide = Object.keys(GUIDES).find((name) => sourceOf(name) === linked);
    return guide === undefined ? text : `[${text}](/docs/${guide}${suffix}${hash})`;
  });
}

/** Links to the pages that a text names by their paths. */
function withNamedPages(html: string): string {
  return html.replaceAll(/<code>(\/docs\/\w+)<\/code>/g, '<a href="$1"><code>$1</code></a>');
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
