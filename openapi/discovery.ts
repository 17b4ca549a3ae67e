// What programs read to find the API and its guides: llms.txt, robots.txt, the sitemap, the catalogue, and the headers of the pages.
import { MISSING_PAGE, PAGE_LINKS, PLACEHOLDER } from "./content.ts";
import type { Guide } from "./guides.ts";
import { REFERENCE } from "./reference.ts";

/** Where programs find what is below. */
const CATALOGUE = "/.well-known/api-catalog";
const LLMS_FULL = "/llms-full.txt";
/** Texts at one path. */
const TEXTS = ["/openapi.json", "/llms.txt", LLMS_FULL, "/robots.txt", "/sitemap.xml"];

/** The API for agents (docs/agents.md). */
const MCP = "/mcp";
const MCP_GUIDE = "/docs/agents";

/** The text of each file, by its path. `start` is the first page. */
export function discoveryFiles(introduction: string, start: Guide, guides: Guide[]): { [path: string]: string } {
  const pages = [start, ...guides];
  return {
    "/llms.txt": llms(introduction, guides),
    [LLMS_FULL]: pages.map(({ markdown }) => markdown).join("\n---\n\n"),
    "/robots.txt": `User-agent: *\nAllow: /\nContent-Signal: search=yes, ai-input=yes\n\nSitemap: ${PLACEHOLDER}/sitemap.xml\n`,
    "/sitemap.xml": sitemap([...pages.map(({ path }) => path), REFERENCE]),
    [CATALOGUE]: `${JSON.stringify(catalogue(), null, 2)}\n`,
  };
}

/** Headers that protect a page. JSON needs none of them. `X-Frame-Options` repeats the policy. */
export const PAGE_HEADERS = {
  // Everything comes from this origin. The script of the renderer sets inline styles.
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
  "Origin-Agent-Cluster": "?1",
  "Referrer-Policy": "no-referrer",
  "X-Frame-Options": "DENY",
};
/**
 * The page of the console holds an API key: no inline style, and no markup from text but that of its library, which makes templates alone.
 */
const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types lit-html";
/** Pages of any origin may read the OpenAPI document and the texts. A cache may store them, so this does not depend on the `Origin`. */
const TEXT_HEADERS = { "Access-Control-Allow-Origin": "*" };

/** The rules of `_headers` for the pages and the files. Without its rule, a page has the strict policy of JSON. */
export function discoveryHeaders(pages: Guide[]): { [path: string]: { [header: string]: string } } {
  const negotiated = { Vary: "Accept", Link: PAGE_LINKS };
  return {
    ...Object.fromEntries(
      pages.flatMap(({ path }) => [
        [path, { ...PAGE_HEADERS, ...negotiated }],
        [`${path}.md`, { ...TEXT_HEADERS, ...negotiated }],
      ]),
    ),
    ...Object.fromEntries(TEXTS.map((path) => [path, TEXT_HEADERS])),
    [REFERENCE]: { ...PAGE_HEADERS, Link: PAGE_LINKS },
    [MISSING_PAGE]: PAGE_HEADERS,
    "/console/*": { ...PAGE_HEADERS, "Content-Security-Policy": CONSOLE_POLICY },
    [CATALOGUE]: {
      ...TEXT_HEADERS,
      "Content-Type": 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"',
      Link: `<${CATALOGUE}>; rel="api-catalog"`,
    },
  };
}

/** The index for language models (llmstxt.org). Absolute addresses, because readers take it to other places. */
function llms(introduction: string, guides: Guide[]): string {
  const link = (title: string, path: string, about: string) => `- [${title}](${PLACEHOLDER}${path}): ${about}`;
  const list = guides.map(({ path, title, summary }) => link(title, `${path}.md`, summary.replaceAll("\n", " ")));
  return `# Pet Store Service

> ${introduction}

The API is below ${PLACEHOLDER}/v1 and needs an [API key](${PLACEHOLDER}/docs/keys.md). Agents connect to ${PLACEHOLDER}${MCP}
([how](${PLACEHOLDER}${MCP_GUIDE}.md)). Each page of /docs is Markdown with the suffix \`.md\`, or with \`Accept: text/markdown\`.

## API

${link("OpenAPI 3.1 document", "/openapi.json", "every operation, parameter, field and error.")}
${link("Start", "/docs.md", "the first requests with curl and TypeScript.")}
${link("Catalogue", CATALOGUE, "the addresses of the API and of its descriptions (RFC 9727).")}

## Guides

${list.join("\n")}

## Optional

${link("All guides", LLMS_FULL, "in one file.")}
`;
}

function sitemap(paths: string[]): string {
  const urls = paths.map((path) => `  <url><loc>${PLACEHOLDER}${path}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${urls.join("")}</urlset>
`;
}

/** RFC 9727, as a linkset (RFC 9264). */
function catalogue(): object {
  const link = (path: string, type: string) => ({ href: `${PLACEHOLDER}${path}`, type });
  const page = (path: string) => [link(path, "text/html"), link(`${path}.md`, "text/markdown")];
  return {
    linkset: [
      {
        anchor: `${PLACEHOLDER}/v1`,
        "service-desc": [link("/openapi.json", "application/json")],
        "service-doc": page("/docs"),
        status: [link("/health", "application/json")],
      },
      { anchor: `${PLACEHOLDER}${MCP}`, "service-doc": page(MCP_GUIDE) },
    ],
  };
}
