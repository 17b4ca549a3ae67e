import { createHash } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";

// The manifest of a backup: what the backup is, and the files with its rows. Format 2 has its own digest in the second line, over all other
// lines: `sed 2d manifest.json | openssl dgst -sha256` prints it. Format 1 has none.

export const MANIFEST = "manifest.json";
const NEWEST_FORMAT = 2;
/** A backup has all data of clients: only its owner reads it. */
export const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;

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
const contentsSchema = z.strictObject({
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
const manifestSchema = z.discriminatedUnion("format", [
  contentsSchema.extend({ format: z.literal(1) }),
  contentsSchema.extend({ format: z.literal(NEWEST_FORMAT), sha256: z.string() }),
]);
export type ManifestContents = z.infer<typeof contentsSchema>;
export type Manifest = z.infer<typeof manifestSchema>;
export type TableFiles = Manifest["tables"][string];

export const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

/** Writes a file so that it is there whole or not at all, whenever the process ends. */
export function writeWhole(path: string, contents: string | Buffer): void {
  const unfinished = `${path}.unfinished`;
  writeFileSync(unfinished, contents, { flush: true, mode: PRIVATE_FILE });
  renameSync(unfinished, path);
}

/** The text of a manifest: its digest is in the second line. */
export function manifestText(contents: ManifestContents): string {
  const [first, ...others] = `${JSON.stringify({ format: NEWEST_FORMAT, ...contents }, null, 2)}\n`.split("\n");
  const digest = sha256([first, ...others].join("\n"));
  return [first, `  "sha256": "${digest}",`, ...others].join("\n");
}

/**
 * The manifest of a backup, and the digest of its whole file.
 *
 * @throws Error when the folder has none that this program reads, and when it does not have the digest that it names.
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
  if (typeof format === "number" && format > NEWEST_FORMAT) {
    throw new Error(`${path} has format ${format}. This program reads formats up to ${NEWEST_FORMAT}.`);
  }
  const { success, data } = manifestSchema.safeParse(value);
  if (!success) throw new Error(`${path} is damaged: it is not a manifest.`);
  const [first, , ...others] = text.split("\n");
  if (data.format === NEWEST_FORMAT && data.sha256 !== sha256([first, ...others].join("\n")))
    throw new Error(`${path} is damaged: it does not have the digest in its second line.`);
  return { manifest: data, digest: sha256(text) };
}
