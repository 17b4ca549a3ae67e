// Writes and removes the files of public/. At the same time, `wrangler dev` may serve the folder and other builds may write to
// it.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const PUBLIC = join(ROOT, "public");
/** For unfinished files. On the same file system, so that a finished file can be moved. Neither served nor deployed. */
const UNFINISHED = join(ROOT, ".dist/unfinished");

/** The folder of files that browsers cache forever, because their paths change with their contents. */
export const ASSETS = "/docs/assets";

const start = Date.now();
const written = new Set<string>();

mkdirSync(UNFINISHED, { recursive: true });

/** Writes only changed files, and replaces each at once, for concurrent readers of the folder. */
export function write(file: string, content: string | Buffer): void {
  const path = join(PUBLIC, file);
  written.add(path);
  if (statSync(path, { throwIfNoEntry: false }) && readFileSync(path).equals(Buffer.from(content))) return;
  const unfinished = join(UNFINISHED, String(process.pid));
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(unfinished, content);
  renameSync(unfinished, path);
}

/**
 * Writes files into a folder named after the hash of their names and contents, so that the files can refer to each other. Returns
 * its path on the host.
 */
export function writeAssets(folder: string, files: { [name: string]: string }): string {
  const path = `${ASSETS}/${folder}-${hashOf(files)}`;
  for (const [name, content] of Object.entries(files)) write(`${path}/${name}`, content);
  return path;
}

/** Removes the files that neither this build nor a concurrent one has written. */
export function removeStale(): void {
  // Files of earlier sources. A file that is newer than this build belongs to another build.
  remove(PUBLIC, (path, changed) => !written.has(path) && changed < start);
  // Files of a killed build. No build keeps an unfinished file for an hour.
  remove(UNFINISHED, (_path, changed) => changed < start - 3_600_000);
}

function hashOf(files: { [name: string]: string }): string {
  return createHash("sha256").update(JSON.stringify(files)).digest("hex").slice(0, 16);
}

/** Files only, because an empty folder is neither served nor deployed. `changed` is in milliseconds since the epoch. */
function remove(folder: string, isStale: (path: string, changed: number) => boolean): void {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    // Another build may remove the file at the same time.
    const file = entry.isDirectory() ? undefined : statSync(path, { throwIfNoEntry: false });
    if (file && isStale(path, file.mtimeMs)) rmSync(path, { force: true });
  }
}
