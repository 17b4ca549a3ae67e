// npm run generate:public: updates public/, which the Worker serves. wrangler runs it before every build, so it first checks
// whether anything has changed that the pages are made of: making them takes two seconds.
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SOURCES } from "./sources.ts";

process.chdir(join(import.meta.dirname, ".."));

/** What the last build was made of, and what it wrote. */
interface Stamp {
  /** The hash of all sources. */
  sources: string;
  /** The hash of what the pages are made of: `sources`, but only what the pages take from `src/`. */
  content: string;
  /** The hash of `public/`. */
  written: string;
}
const STAMP = ".dist/public.sha256";

// No reload of `npm run dev` waits for the pages: it builds them afterwards.
if (process.env["PAGES"] !== "later") await build();

async function build(): Promise<void> {
  // Taken before the build: a change of the source during the build starts another build.
  const sources = digest(SOURCES);
  const last = readStamp();
  const isWhole = last?.written === digest(["public"]);
  if (isWhole && last.sources === sources) return;
  const content = digest(SOURCES.filter((source) => source !== "src")) + (await digestOfContent());
  if (!isWhole || last.content !== content) {
    await import("./pages.ts");
    // To `npm run dev`.
    process.send?.("built");
  }
  mkdirSync(".dist", { recursive: true });
  writeFileSync(STAMP, JSON.stringify({ sources, content, written: digest(["public"]) } satisfies Stamp));
}

/** The hash of what the pages take from `src/`. As one file, which loads faster than its modules one by one. */
async function digestOfContent(): Promise<string> {
  const { buildSync } = await import("esbuild");
  const { outputFiles } = buildSync({
    entryPoints: ["openapi/content.ts"],
    bundle: true,
    platform: "node",
    format: "esm",
    write: false,
  });
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString("base64");
  return createHash("sha256")
    .update(JSON.stringify(await import(`data:text/javascript;base64,${code}`)))
    .digest("hex");
}

/**
 * The hash of the names and contents of all files in these paths. It differs every time when a file disappears while it is read.
 */
function digest(paths: string[]): string {
  try {
    const hash = createHash("sha256");
    for (const file of paths.flatMap(filesIn).toSorted()) {
      hash.update(`${file} ${createHash("sha256").update(readFileSync(file)).digest("hex")}\n`);
    }
    return hash.digest("hex");
  } catch {
    return randomUUID();
  }
}

function filesIn(path: string): string[] {
  const entry = statSync(path, { throwIfNoEntry: false });
  if (!entry?.isDirectory()) return entry ? [path] : [];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function readStamp(): Stamp | undefined {
  try {
    return JSON.parse(readFileSync(STAMP, "utf8")) as Stamp;
  } catch {
    return undefined;
  }
}
