// Writes the console: a page for each environment, which names it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { buildSync } from "esbuild";
import { LOCAL_API_KEY } from "./content.ts";
import { write, writeAssets } from "./public-files.ts";

const SOURCE = join(import.meta.dirname, "console");
const LICENSE = join(import.meta.dirname, "../node_modules/lit-html/LICENSE");
/** Bytes of the script after gzip. */
const BUDGET_BYTES = 26 * 1024;
const ENVIRONMENTS = ["local", "staging", "production"];

/**
 * The script with the client and lit-html, for browsers. The library changes only what differs, so that the focus and what a person entered
 * stay. It has 3.9 KiB. preact 10.29.8 has 4.4, and uhtml 5.0.9 has 6.3.
 *
 * @throws Error when it is over its budget.
 */
function consoleScript(): string {
  const { outputFiles } = buildSync({
    entryPoints: [join(SOURCE, "main.ts")],
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    banner: { js: "/*! lit-html: see LICENSE beside this file */" },
    legalComments: "none",
    write: false,
  });
  const { text, contents } = outputFiles[0] ?? { text: "", contents: "" };
  const size = gzipSync(contents).length;
  if (size > BUDGET_BYTES) throw new Error(`The console has ${size} bytes after gzip, over ${BUDGET_BYTES}.`);
  return text;
}

/** @param page the folder of what the pages share. */
export function writeConsole(page: string): void {
  const assets = writeAssets("console", {
    "console.js": consoleScript(),
    "console.css": readFileSync(join(SOURCE, "console.css"), "utf8"),
    // That of lit-html has to be with every copy.
    LICENSE: readFileSync(LICENSE, "utf8"),
  });
  for (const environment of ENVIRONMENTS) {
    const key = environment === "local" ? ` data-key="${LOCAL_API_KEY}"` : "";
    write(
      `console/${environment}.html`,
      `<!doctype html>
<html lang="en" data-environment="${environment}"${key}>
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <meta name="robots" content="noindex">
    <title>Console · Pet Store Service</title>
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="${page}/page.css">
    <link rel="stylesheet" href="${assets}/console.css">
    <script src="${page}/theme.js"></script>
    <script type="module" src="${assets}/console.js"></script>
  </head>
  <body>
    <a class="skip" href="#content">Skip to the content</a>
    <div id="console"><noscript>The console needs JavaScript.</noscript></div>
  </body>
</html>
`,
    );
  }
}
