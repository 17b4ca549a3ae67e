import { createHash } from "node:crypto";
import { appendFileSync, createReadStream, existsSync, readdirSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip, gzipSync } from "node:zlib";
import { PRIVATE_FILE, type TableFiles } from "./manifest.ts";
import type { Line, Table } from "./tables.ts";

// The rows of a backup: for each table files of NDJSON in gzip. Every line is a row. `gzip -dc pets-*.ndjson.gz | openssl dgst -sha256` prints the digest
// in the manifest.

/** Compressed bytes after which the next file begins: less than the 300 MiB that wrangler uploads. */
const FILE_BYTES = 2 ** 27;
/** Bytes of a line at most: D1 documents no more for a text, and a restore sends a line in brackets. */
const LINE_BYTES = 2_000_000 - 2;

/** Writes the files of one table, in the place of those from an earlier attempt. Each page is a member of gzip. */
export async function writeTable(
  folder: string,
  { name, columns }: Table,
  pages: AsyncIterable<Line[]>,
): Promise<TableFiles> {
  const earlier = new RegExp(`^${name}-\\d{4,}\\.ndjson\\.gz$`);
  for (const file of readdirSync(folder)) if (earlier.test(file)) rmSync(join(folder, file));
  const hash = createHash("sha256");
  const files: string[] = [];
  let [rows, room] = [0, 0];
  for await (const page of pages) {
    rows += page.length;
    const text = page.map(({ line }) => `${line}\n`).join("");
    hash.update(text);
    const member = gzipSync(text);
    if (room < member.length) {
      files.push(`${name}-${String(files.length + 1).padStart(4, "0")}.ndjson.gz`);
      room = FILE_BYTES;
    }
    // Not by writeSync, which writes a part when the disk has no room for the rest.
    appendFileSync(join(folder, files.at(-1) ?? ""), member, { mode: PRIVATE_FILE });
    room -= member.length;
  }
  for (const file of files) {
    await using handle = await open(join(folder, file), "r+");
    await handle.sync();
  }
  return { files, rows, columns, sha256: hash.digest("hex") };
}

/**
 * The lines of a table in a backup.
 *
 * @throws Error at the end when they are not those of the manifest, and before when a file is missing or damaged.
 */
export async function* readLines(folder: string, name: string, { files, rows, sha256: expected }: TableFiles) {
  const hash = createHash("sha256");
  let found = 0;
  for (const file of files) {
    const path = join(folder, file);
    if (!existsSync(path)) throw new Error(`${path} is missing.`);
    const unzipped = createGunzip();
    createReadStream(path)
      .on("error", (error) => unzipped.destroy(error))
      .pipe(unzipped);
    let line = "";
    try {
      // Not by node:readline, which also ends a line at U+2028 (24.21.0).
      for await (const chunk of unzipped.setEncoding("utf8")) {
        const [end = "", ...others] = String(chunk).split("\n");
        line += end;
        // A small file may hold a line that has no end, or lines without end.
        if (line.length > LINE_BYTES || Buffer.byteLength(line) > LINE_BYTES)
          throw new Error(`a line has more than ${LINE_BYTES} bytes`);
        for (const begin of others) {
          if (++found > rows) throw new Error(`it has more rows than the ${rows} of the manifest`);
          hash.update(`${line}\n`);
          yield line;
          line = begin;
        }
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${path} is damaged: ${reason}`, { cause: error });
    }
  }
  if (found !== rows || hash.digest("hex") !== expected) {
    throw new Error(`${name} is damaged: its ${found} rows in ${folder} are not the ${rows} of the manifest.`);
  }
}
