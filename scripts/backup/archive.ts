import { createHash, type Hash } from "node:crypto";
import {
  createReadStream,
  existsSync,
  openSync,
  closeSync,
  fsyncSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { createGunzip, gzipSync } from "node:zlib";
import * as z from "zod";
import type { Line } from "./tables.ts";

// A backup is a folder: a manifest, and for each table files of NDJSON in gzip. Every line is a row. `zcat pets-*.ndjson.gz | sha256sum`
// prints the digest in the manifest.

export const MANIFEST = "manifest.json";
const FORMAT = 1;
/** Bytes of lines that one gzip member compresses. */
const MEMBER_BYTES = 2 ** 20;
/** Compressed bytes after which the next file begins: less than the 300 MB that an upload with wrangler may have. */
const FILE_BYTES = 2 ** 27;

const name = z.string().regex(/^\w+$/);
/** Of a database or a file: printed, and nothing else. */
const title = z.string().regex(/^[\w.-]+$/);
const digits = z.string().regex(/^-?\d{1,19}$/);
const tableSchema = z.strictObject({
  /** The files in the order of their rows. */
  files: z.array(z.string().regex(/^\w+-\d{4,}\.ndjson\.gz$/)),
  rows: z.int(),
  columns: z.array(name),
  /** Of all lines, in hexadecimal. */
  sha256: z.string(),
});
const manifestSchema = z.strictObject({
  format: z.literal(FORMAT),
  /** The name of the database. */
  database: title,
  /** The moment up to which the backup is the truth. */
  moment: z.strictObject({
    /** By the clock of the database. */
    time: z.iso.datetime(),
    /** The newest event of that moment: its id in digits, and its tag. */
    event: z.strictObject({ id: digits, tag: digits }),
  }),
  /** The name and the SHA-256 of each applied migration. */
  migrations: z.array(z.strictObject({ name: title, sha256: z.string() })),
  /** The largest id that was ever given out, in digits. */
  counters: z.record(name, digits),
  tables: z.record(name, tableSchema),
});
export type Manifest = z.infer<typeof manifestSchema>;
export type TableFiles = Manifest["tables"][string];

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Writes a file so that it is there whole or not at all, whenever the process ends. */
export function writeWhole(path: string, contents: string | Buffer): void {
  const unfinished = `${path}.unfinished`;
  writeFileSync(unfinished, contents, { flush: true });
  renameSync(unfinished, path);
}

/**
 * The manifest of a backup, and its digest.
 *
 * @throws Error when the folder has none that this program reads.
 */
export function readManifest(folder: string): { manifest: Manifest; digest: string } {
  const path = join(folder, MANIFEST);
  if (!existsSync(folder)) throw new Error(`There is no folder ${folder}.`);
  if (!existsSync(path)) throw new Error(`${folder} has no ${MANIFEST}: it is no backup, or not a finished one.`);
  const text = readFileSync(path, "utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error(`${path} is damaged: it is not JSON.`);
  }
  const format: unknown = value !== null && typeof value === "object" && "format" in value ? value.format : undefined;
  if (typeof format === "number" && format !== FORMAT) {
    throw new Error(`${path} has format ${format}. This program reads format ${FORMAT}.`);
  }
  const { success, data } = manifestSchema.safeParse(value);
  if (!success) throw new Error(`${path} is damaged: it is not a manifest.`);
  return { manifest: data, digest: sha256(text) };
}

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
    this.#file = { descriptor: openSync(path, "w"), path, bytes: 0 };
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
    let rest = "";
    try {
      // Not by node:readline, which also ends a line at U+2028.
      for await (const chunk of unzipped.setEncoding("utf8")) {
        const lines: string[] = (rest + String(chunk)).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          hash.update(`${line}\n`);
          found++;
          yield { id: idOf(line), line } satisfies Line;
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

function idOf(line: string): string {
  const id = /^\{"id":(-?\d+)[,}]/.exec(line)?.[1];
  if (id === undefined) throw new Error("a line has no id");
  return id;
}

/** Reads all of a backup. @throws Error when any of it is missing or damaged. */
export async function verify(folder: string, { tables }: Manifest): Promise<void> {
  for (const [name, table] of Object.entries(tables)) {
    for await (const _ of readLines(folder, name, table));
  }
}
