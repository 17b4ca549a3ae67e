// npm run generate:public: brings public/, which the Worker serves, up to date with its sources. wrangler runs it before every build, and
// mostly there is nothing to do; loading all that the pages are made from takes a second.
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";

process.chdir(join(import.meta.dirname, ".."));

/** What the pages are made from. The lock file stands for the packages. */
const SOURCES = ["docs", "examples/clients", "openapi", "src", "package.json", "package-lock.json"];
/** What was made of which sources the last time. */
const STAMP = ".dist/public.sha256";

// Before the build: a source that changes meanwhile asks for another one.
const sources = digest(SOURCES);
if (readStamp() !== `${sources} ${digest(["public"])}`) {
  await import("./pages.ts");
  mkdirSync(".dist", { recursive: true });
  writeFileSync(STAMP, `${sources} ${digest(["public"])}`);
}

/** Of the names and contents of all files in these paths; never the same when one of them goes while it is read. */
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

function readStamp(): string | undefined {
  try {
    return readFileSync(STAMP, "utf8");
  } catch {
    return undefined;
  }
}
