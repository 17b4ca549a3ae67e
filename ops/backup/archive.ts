import { createHash, type Hash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  openSync,
  closeSync,
  fsyncSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createGunzip, gzipSync } from "node:zlib";
import { type Manifest, PRIVATE_FILE, type TableFiles } from "./manifest.ts";
import type { Line } from "./tables.ts";

// The rows of a backup: for each table files of NDJSON in gzip. Every line is a row. `gzip -dc pets-*.ndjson.gz | openssl dgst -sha256` prints the digest
// in the manifest.

/** Bytes of lines that one gzip member compresses. */
const MEMBER_BYTES = 2 ** 20;
/** Compressed bytes after which the next file begins: less than the 300 MB that an upload with wrangler may have. */
const FILE_BYTES = 2 ** 27;
/** Bytes of a line at most: a text of D1 has no more, and a restore sends a line in brackets. */
const LINE_BYTES = 2_000_000 - 2;

/** Writes the files of one table, in the place of those from an earlier attempt. */
export class TableWriter {
  readonly #folder: string;
  readonly #name: string;
  readonly #hash: Hash = createHash("sha256");
  readonly #files: string[] = [];
  #rows = 0;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #file: { descriptor: number; path: string; bytes: number } | undefined;

  constructor(folder: string, name: string) {
    this.#folder = folder;
    this.#name = name;
    const earlier = new RegExp(`^${name}-\\d{4,}\\.ndjson\\.gz$`);
    for (const file of readdirSync(folder)) if (earlier.test(file)) rmSync(join(folder, file));
  }

  add(line: string): void {
    this.#waiting.push(line);
    this.#waitingBytes += line.length + 1;
    this.#rows++;
    if (this.#waitingBytes >= MEMBER_BYTES) this.#flush();
  }

  finish(columns: string[]): TableFiles {
    this.#flush();
    this.#close();
    return { files: this.#files, rows: this.#rows, columns, sha256: this.#hash.digest("hex") };
  }

  #flush(): void {
    if (this.#waiting.length === 0) return;
    const text = `${this.#waiting.join("\n")}\n`;
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#hash.update(text);
    const member = gzipSync(text);
    if (this.#file === undefined || this.#file.bytes + member.length > FILE_BYTES) this.#open();
    if (this.#file === undefined) return;
    // Not by writeSync, which writes a part when the disk has no room for the rest.
    writeFileSync(this.#file.descriptor, member);
    this.#file.bytes += member.length;
  }

  #open(): void {
    this.#close();
    const file = `${this.#name}-${String(this.#files.length + 1).padStart(4, "0")}.ndjson.gz`;
    const path = join(this.#folder, file);
    this.#files.push(file);
    this.#file = { descriptor: openSync(path, "w", PRIVATE_FILE), path, bytes: 0 };
  }

  #close(): void {
    if (this.#file === undefined) return;
    fsyncSync(this.#file.descriptor);
    closeSync(this.#file.descriptor);
    this.#file = undefined;
  }
}

/**
 * The rows of a table in a backup.
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
      // Not by node:readline, which also ends a line at U+2028.
      for await (const chunk of unzipped.setEncoding("utf8")) {
        const [end = "", ...others] = String(chunk).split("\n");
        line += end;
        // A small file may hold a line that has no end, or lines without end.
        if (line.length > LINE_BYTES || Buffer.byteLength(line) > LINE_BYTES)
          throw new Error(`a line has more than ${LINE_BYTES} bytes`);
        for (const begin of others) {
          if (++found > rows) throw new Error(`it has more rows than the ${rows} of the manifest`);
          hash.update(`${line}\n`);
          yield { id: idOf(line), line } satisfies Line;
          line = begin;
        }
      }
    } catch (error) {
      throw new Error(`${path} is damaged: ${error instanceof Error ? error.message : String(error)}`, {
        cause: error,
      });
    }
  }
  if (found !== rows || hash.digest("hex") !== expected) {
    throw new Error(`${name} is damaged: its ${found} rows in ${folder} are not the ${rows} of the manifest.`);
  }
}

/** Whether a line is one JSON value. `idOf` sees that it begins as an object. */
function isJson(line: string): boolean {
  try {
    JSON.parse(line);
    return true;
  } catch {
    return false;
  }
}

function idOf(line: string): string {
  const id = /^\{"id":(-?\d+)[,}]/.exec(line)?.[1];
  if (id === undefined) throw new Error("a line has no id");
  return id;
}

/**
 * Reads all of a backup.
 *
 * @returns the largest id of each table with rows.
 * @throws Error when any of it is missing or damaged.
 */
export async function verify(
  folder: string,
  { tables }: Pick<Manifest, "tables">,
): Promise<{ [table: string]: string }> {
  const largest: { [table: string]: string } = {};
  for (const [name, table] of Object.entries(tables)) {
    for await (const { id, line } of readLines(folder, name, table)) {
      if (!isJson(line)) throw new Error(`${name} is damaged: the line of the id ${id} is not one object.`);
      const last = largest[name];
      if (last !== undefined && BigInt(id) <= BigInt(last))
        throw new Error(`${name} is damaged: the id ${id} comes after ${last}.`);
      largest[name] = id;
    }
  }
  return largest;
}
