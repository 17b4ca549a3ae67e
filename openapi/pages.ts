// Writes public/: the OpenAPI document, the reference, the guides, and what programs read. Run by build.ts.
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { navigationBadges } from "./badges.ts";
import { writeConsole } from "./console.ts";
import { document, LOCAL_API_KEY, tools, TOOLS_FILE } from "./content.ts";
import { discoveryFiles, discoveryHeaders, PAGE_HEADERS } from "./discovery.ts";
import { guides, startPage } from "./guides.ts";
import { readPackages, RELEASED } from "./packages.ts";
import { ASSETS, removeStale, write, writeAssets } from "./public-files.ts";
import { transformSync } from "esbuild";
import { introductionOf, NEW_KEY, REFERENCE, referenceDocument } from "./reference.ts";
import { searchEntries } from "./search.ts";

const EXAMPLES = join(import.meta.dirname, "../examples");
const PACKAGES = join(import.meta.dirname, "../node_modules");
const SCALAR = join(PACKAGES, "@scalar/api-reference");
const RENDERER = join(SCALAR, "dist/browser");
const MINISEARCH = join(PACKAGES, "minisearch/dist/es/index.js");

write("openapi.json", `${JSON.stringify(document, null, 2)}\n`);
write(TOOLS_FILE, JSON.stringify(tools));
const clients = readdirSync(join(EXAMPLES, "clients")).map((name) => `clients/${name}`);
for (const file of ["claim.mjs", "webhook-receiver.mjs", ...clients]) {
  write(`docs/examples/${basename(file)}`, readFileSync(join(EXAMPLES, file), "utf8"));
}
for (const { file } of readPackages()) write(`docs/${file}`, readFileSync(join(RELEASED, file)));
const page = writeAssets("page", {
  ...texts(join(import.meta.dirname, "page")),
  "badges.css": navigationBadges(document),
  // Its licence has to be in every copy.
  "minisearch.js": `/*! minisearch\n${readFileSync(join(PACKAGES, "minisearch/LICENSE.txt"), "utf8")}*/\n${
    transformSync(readFileSync(MINISEARCH, "utf8"), { minify: true }).code
  }`,
  "entries.json": JSON.stringify(searchEntries(document)),
});
writeConsole(page);
const renderer = writeAssets("scalar", {
  ...texts(RENDERER, ["standalone.esm.js", ...chunks()]),
  ...texts(SCALAR, ["LICENSE"]),
});
const referenceJson = writeAssets("document", { "reference.json": referenceDocument(document) });
/** The groups of the navigation. They are those that the renderer makes at the side of the reference. */
const NAVIGATION = [
  { name: "Guides", links: [{ path: "/docs", title: "Start" }, ...guides] },
  {
    name: "Operations",
    links: (document.tags ?? []).map(({ name }) => ({ path: `${REFERENCE}#tag/${name.toLowerCase()}`, title: name })),
  },
];

const introduction = introductionOf(document);
const start = startPage(introduction);
for (const { path, markdown } of [start, ...guides]) write(`${path}.md`, markdown);
for (const [path, text] of Object.entries(discoveryFiles(introduction, start, guides))) write(path, text);
write(
  "_headers",
  headerRules({
    [`${ASSETS}/*`]: { ...PAGE_HEADERS, "Cache-Control": "public, max-age=31536000, immutable" },
    "/docs/*.tgz": { ...PAGE_HEADERS, "Content-Type": "application/gzip" },
    ...discoveryHeaders([start, ...guides]),
  }),
);

writePage(
  "docs.html",
  start,
  [alternate(start.path), `<script type="module" src="${page}/start.js"></script>`],
  withNavigation(start.path, `<div data-local-key="${LOCAL_API_KEY}">${start.html}</div>`),
);
writePage(
  "docs/reference.html",
  { path: REFERENCE, title: "Reference" },
  [
    ...["reference.css", "badges.css"].map((file) => `<link rel="stylesheet" href="${page}/${file}">`),
    `<script type="module" src="${page}/reference.js"></script>`,
  ],
  `<div
      id="reference"
      data-renderer="${renderer}/standalone.esm.js"
      data-document="${referenceJson}/reference.json"
      data-local-key="${LOCAL_API_KEY}"
      data-new-key="${NEW_KEY}"
    >
      <main id="content" tabindex="-1">
        <article>
          <h1>${document.info.title}</h1>
          <p>${introduction}</p>
          <p id="state">The reference needs JavaScript. <a href="/openapi.json">The OpenAPI document</a> has the same content.</p>
        </article>
      </main>
    </div>`,
);
for (const guide of guides) {
  const script = `<script type="module" src="${page}/guide.js"></script>`;
  writePage(`${guide.path}.html`, guide, [alternate(guide.path), script], withNavigation(guide.path, guide.html));
}

writePage(
  "docs/404.html",
  { path: "", title: "Not found" },
  [],
  withNavigation("", "<h1>There is no such page</h1><p>Search, or choose another page.</p>"),
);

removeStale();

/** The same page as Markdown. */
function alternate(path: string): string {
  return `<link rel="alternate" type="text/markdown" href="${path}.md">`;
}

function headerRules(rules: { [path: string]: { [header: string]: string } }): string {
  return Object.entries(rules)
    .map(([path, headers]) => [path, ...Object.entries(headers).map(([name, value]) => `  ${name}: ${value}\n`)])
    .map(([path, ...lines]) => `${path}\n${lines.join("")}`)
    .join("");
}

/** The modules that the renderer loads. */
function chunks(): string[] {
  return readdirSync(join(RENDERER, "chunks")).map((file) => `chunks/${file}`);
}

function texts(folder: string, files = readdirSync(folder)): { [name: string]: string } {
  return Object.fromEntries(files.map((file) => [file, readFileSync(join(folder, file), "utf8")]));
}

/** The body of a page beside the navigation, which a button opens on a phone. */
function withNavigation(current: string, html: string): string {
  const groups = NAVIGATION.map(({ name, links }) => {
    const items = links.map(
      ({ path, title }) => `<li><a href="${path}"${path === current ? ' aria-current="page"' : ""}>${title}</a></li>`,
    );
    return `<strong>${name}</strong><ul>${items.join("")}</ul>`;
  });
  return `<nav id="all-pages" aria-label="Documentation" popover>${groups.join("")}</nav>
    <main id="content" tabindex="-1"><article>${html}</article></main>`;
}

function writePage(file: string, current: { path: string; title: string }, head: string[], body: string): void {
  const menu =
    current.path === REFERENCE
      ? ""
      : '<button type="button" id="open-all-pages" popovertarget="all-pages">Menu</button>';
  write(
    file,
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>${current.title} · Pet Store Service</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${page}/page.css">
    <script src="${page}/theme.js"></script>
    <script type="module" src="${page}/search.js"></script>
    ${head.join("\n    ")}
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <div class="bar">
      <nav aria-label="Start">
        ${menu}
        <a href="/docs">Pet Store Service</a>
      </nav>
      <search><button type="button" id="open-search" aria-haspopup="dialog" hidden>Search <kbd>Ctrl K</kbd></button></search>
    </div>
    ${body}
    <dialog id="search" aria-label="Search">
      <input
        type="search"
        role="combobox"
        aria-label="Search the reference and the guides"
        aria-autocomplete="list"
        aria-controls="results"
        aria-expanded="false"
        autocapitalize="off"
        autocomplete="off"
        enterkeyhint="go"
        placeholder="Search the reference and the guides"
        spellcheck="false"
      >
      <div id="results" role="listbox" aria-label="Results" hidden></div>
      <p role="status"></p>
    </dialog>
  </body>
</html>
`,
  );
}
