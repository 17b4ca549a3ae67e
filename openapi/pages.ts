// Writes public/: the OpenAPI document, the page to try it on, and the guides. Meanwhile a `wrangler dev` may serve the folder, and other
// builds may write to it. Run by build.ts.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Marked } from "marked";
import { gfmHeadingId } from "marked-gfm-heading-id";
import { document } from "./document.ts";

const ROOT = join(import.meta.dirname, "..");
const PUBLIC = join(ROOT, "public");
/** On the same file system, so that a finished file can be moved; neither served nor deployed. */
const UNFINISHED = join(ROOT, ".dist/unfinished");
const SWAGGER_UI = join(ROOT, "node_modules/swagger-ui-dist");

/** Pages of docs/ that are for users of the API. */
const GUIDES = {
  orders: "Selling an animal",
  errors: "Errors",
  guarantees: "Guarantees",
  keys: "API keys",
  versioning: "Versioning",
};

const start = Date.now();
const written = new Set<string>();

mkdirSync(UNFINISHED, { recursive: true });
write("openapi.json", `${JSON.stringify(document, null, 2)}\n`);
for (const file of ["swagger-ui-bundle.js", "swagger-ui.css"])
  write(`docs/${file}`, readFileSync(join(SWAGGER_UI, file), "utf8"));
for (const file of ["page.css", "page.js"])
  write(`docs/${file}`, readFileSync(join(import.meta.dirname, file), "utf8"));
for (const file of readdirSync(join(ROOT, "docs/examples"))) {
  write(`docs/examples/${file}`, readFileSync(join(ROOT, "docs/examples", file), "utf8"));
}

const navigation = [["/docs", "Reference"], ...Object.entries(GUIDES).map(([name, title]) => [`/docs/${name}`, title])]
  .map(([href, title]) => `<a href="${href}">${title}</a>`)
  .join("\n      ");

writePage(
  "docs.html",
  "Reference",
  '<link rel="stylesheet" href="/docs/swagger-ui.css">',
  `<div id="reference"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/page.js"></script>`,
);
const marked = new Marked(gfmHeadingId());
for (const [name, title] of Object.entries(GUIDES)) {
  const html = await marked.parse(readFileSync(join(ROOT, `docs/${name}.md`), "utf8"));
  // Between the pages of the repository links end in .md. What is not a page here is left to the repository.
  const linked = html.replace(/<a href="([\w-]+)\.md(#[\w-]+)?">(.*?)<\/a>/g, (_, page, hash = "", text) =>
    page in GUIDES ? `<a href="/docs/${page}${hash}">${text}</a>` : text,
  );
  writePage(`docs/${name}.html`, title, "", `<article>${linked}</article>`);
}

// What an earlier state of the sources left here. A file that is younger than this build belongs to another build.
remove(PUBLIC, (path, changed) => !written.has(path) && changed < start);
// What a build that was killed left there. An hour is longer than any other build needs a file of its own.
remove(UNFINISHED, (_path, changed) => changed < start - 3_600_000);

function writePage(file: string, title: string, head: string, body: string): void {
  write(
    file,
    `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>${title} · Pet Store Service</title>
    <link rel="icon" href="data:,">
    ${head}
    <link rel="stylesheet" href="/docs/page.css">
  </head>
  <body>
    <nav aria-label="Documentation">
      ${navigation}
    </nav>
    <main>
    ${body}
    </main>
  </body>
</html>
`,
  );
}

/** Only what changed, and whole files at once, for those who read the folder meanwhile. */
function write(file: string, content: string): void {
  const path = join(PUBLIC, file);
  written.add(path);
  if (statSync(path, { throwIfNoEntry: false }) && readFileSync(path, "utf8") === content) return;
  const unfinished = join(UNFINISHED, String(process.pid));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}

/** Files only: an empty folder is neither served nor deployed. `changed` is in milliseconds since the epoch. */
function remove(folder: string, isStale: (path: string, changed: number) => boolean): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // Another build may remove it at the same time.
    const file = entry.isDirectory() ? undefined : statSync(path, { throwIfNoEntry: false });
    if (file && isStale(path, file.mtimeMs)) rmSync(path, { force: true });
  }
}
