import { createHash } from "node:crypto";
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
import type { Line, Table } from "./tables.ts";

// The rows of a backup: for each table files of NDJSON in gzip. Every line is a row. `gzip -dc pets-*.ndjson.gz | openssl dgst -sha256` prints the digest
// in the manifest.

/** Characters of lines that one gzip member compresses. */
const MEMBER_CHARACTERS = 2 ** 20;
/** Compressed bytes after which the next file begins: less than the 300 MB that an upload with wrangler may have. */
const FILE_BYTES = 2 ** 27;
/** Bytes of a line at most: a text of D1 has no more, and a restore sends a line in brackets. */
const LINE_BYTES = 2_000_000 - 2;

/** Writes the files of one table, in the place of those from an earlier attempt. */
export function writeTable(folder: string, { name, columns }: Table, lines: Iterable<string>): TableFiles {
  const earlier = new RegExp(`^${name}-\\d{4,}\\.ndjson\\.gz$`);
  for (const file of readdirSync(folder)) if (earlier.test(file)) rmSync(join(folder, file));
  const hash = createHash("sha256");
  const files: string[] = [];
  let rows = 0;
  let open: { descriptor: number; room: number } | undefined;
  const close = (): void => {
    if (open === undefined) return;
    fsyncSync(open.descriptor);
    closeSync(open.descriptor);
  };
  for (const some of inMembers(lines)) {
    rows += some.length;
    const text = `${some.join("\n")}\n`;
    hash.update(text);
    const member = gzipSync(text);
    if (open === undefined || open.room < member.length) {
      close();
      files.push(`${name}-${String(files.length + 1).padStart(4, "0")}.ndjson.gz`);
      open = { descriptor: openSync(join(folder, files.at(-1) ?? ""), "w", PRIVATE_FILE), room: FILE_BYTES };
    }
    // Not by writeSync, which writes a part when the disk has no room for the rest.
    writeFileSync(open.descriptor, member);
    open.room -= member.length;
  }
  close();
  return { files, rows, columns, sha256: hash.digest("hex") };
}

function* inMembers(lines: Iterable<string>): Generator<string[]> {
  let [some, characters]: [string[], number] = [[], 0];
  for (const line of lines) {
    some.push(line);
    characters += line.length + 1;
    if (characters < MEMBER_CHARACTERS) continue;
    yield some;
    [some, characters] = [[], 0];
  }
  if (some.length > 0) yield some;
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
