// npm run generate:public: updates public/, which the Worker serves. wrangler runs it before every build, so it first checks
// whether the sources have changed: loading them takes a second.
import { createHash, randomUUID } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SOURCES } from "./sources.ts";

process.chdir(join(import.meta.dirname, ".."));

/** The hashes of the sources and of the files of the last build. */
const STAMP = ".dist/public.sha256";

// Taken before the build: a change of the source during the build starts another build.
const sources = digest(SOURCES);
if (readStamp() !== `${sources} ${digest(["public"])}`) {
  await import("./pages.ts");
  mkdirSync(".dist", { recursive: true });
  writeFileSync(STAMP, `${sources} ${digest(["public"])}`);
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

function readStamp(): string | undefined {
  try {
    return readFileSync(STAMP, "utf8");
  } catch {
    return undefined;
  }
}
