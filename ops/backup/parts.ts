import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import * as z from "zod";
import { oneLine } from "../one-line.ts";
import { ApiFailure } from "../release/api.ts";
import type { Terminal } from "../terminal.ts";
import type { Bucket } from "./bucket.ts";
import { PRIVATE_FOLDER, writeWhole } from "./manifest.ts";
import { unzip, zip } from "./zipped-json.ts";

// An unfinished backup in a bucket, for a machine that has none of its files: a workflow has a new one every night. The pages of its folder
// are in parts, `unfinished/<database>/<number>-<run>`. The parts up to any number are a state that the backup was in.

/** Pages of a part. An interruption loses fewer than that many, and a part costs a request. */
export const PART_PAGES = 50;
/** Bytes of pages after which a part ends earlier. */
const PART_BYTES = 2 ** 23;
const FIRST = "start.json.gz";

const partSchema = z.strictObject({
  /** The name of the part before: two runs at the same time may not mix. */
  after: z.string(),
  pages: z.record(z.string().regex(/^(?:start|\w+-\d+)\.json\.gz$/), z.base64()),
});

/** The parts of the unfinished backup of a database. Its methods throw an Error when the bucket fails. */
export class Parts {
  readonly #bucket: Bucket;
  readonly #prefix: string;
  readonly #terminal: Terminal;
  readonly #run = randomUUID();
  #last = "";
  #count = 0;
  /** Objects that are of no use. */
  #stale: string[] = [];
  /** The bytes of each page that no part has. */
  readonly #waiting = new Map<string, number>();

  constructor(bucket: Bucket, database: string, terminal: Terminal) {
    this.#bucket = bucket;
    this.#prefix = `unfinished/${database}/`;
    this.#terminal = terminal;
  }

  /** Brings the pages of an unfinished backup into a folder, unless it has some. */
  async fetch(folder: string): Promise<void> {
    const keys = await this.#bucket.list(this.#prefix);
    if (existsSync(join(folder, FIRST))) {
      this.#stale = keys;
      const pages = readdirSync(folder).filter((file) => /-\d+\.json\.gz$/.test(file));
      // No page is in a part before an earlier one.
      const inOrder = pages.toSorted((a, b) => a.localeCompare(b, "en", { numeric: true }));
      for (const file of [FIRST, ...inOrder]) this.add(file, statSync(join(folder, file)).size);
    } else if (keys.length > 0) {
      const where = `${this.#bucket.name}/${this.#prefix}`;
      this.#terminal.say(`Copying the unfinished backup in ${where} ...`);
      if (await this.#read(folder, keys)) return;
      this.#terminal.say(`The unfinished backup in ${where} is damaged. The backup starts anew.`);
      this.#stale = keys;
    }
  }

  /** Notes a page of the folder. */
  add(file: string, bytes: number): void {
    this.#waiting.set(file, bytes);
  }

  /** Sends the pages that no part has, if they are enough for one. */
  async send(folder: string): Promise<void> {
    for (;;) {
      const files: string[] = [];
      let bytes = 0;
      for (const [file, size] of this.#waiting) {
        if (files.length === PART_PAGES || bytes >= PART_BYTES) break;
        files.push(file);
        bytes += size;
      }
      if (files.length < PART_PAGES && bytes < PART_BYTES) return;
      // A page may have been removed since.
      const present = files.filter((file) => existsSync(join(folder, file)));
      const pages = present.map((file) => [file, readFileSync(join(folder, file)).toString("base64")]);
      const part = { after: this.#last, pages: Object.fromEntries(pages) };
      const key = `${this.#prefix}${numbered(this.#count + 1)}-${this.#run}`;
      await this.#bucket.put(key, new Blob([zip(part)]));
      [this.#last, this.#count] = [key, this.#count + 1];
      for (const file of files) this.#waiting.delete(file);
      await this.#delete(this.#stale);
      this.#stale = [];
    }
  }

  /** Removes all parts of the database from the bucket: the backup is finished, or has to start anew. */
  async remove(): Promise<void> {
    await this.#delete(await this.#bucket.list(this.#prefix));
    this.#waiting.clear();
    [this.#last, this.#count, this.#stale] = ["", 0, []];
  }

  /**
   * The others are of no use without the first one, so an interruption does no harm. Neither does a bucket that refuses, because a rule
   * locks its objects: parts of two runs are no backup, and the next one starts anew.
   */
  async #delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      try {
        await this.#bucket.delete(key);
      } catch (error) {
        if (!(error instanceof ApiFailure) || !error.isFinal) throw error;
        this.#terminal.say(`${oneLine(error)} A lock of the bucket should leave out ${this.#prefix}: docs/backups.md.`);
        return;
      }
    }
  }

  /** Writes the pages of all parts. Returns whether they are whole. If not, there is no folder. */
  async #read(folder: string, keys: readonly string[]): Promise<boolean> {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
    for (const key of keys) {
      const bytes = await this.#bucket.get(key);
      const part = key.startsWith(`${this.#prefix}${numbered(this.#count + 1)}-`) ? parse(bytes) : undefined;
      if (part?.after !== this.#last || (this.#count === 0 && !(FIRST in part.pages))) {
        rmSync(folder, { recursive: true });
        [this.#last, this.#count] = ["", 0];
        return false;
      }
      // When a part has the first page of a kind again, earlier pages of that kind are void.
      const again = Object.keys(part.pages).flatMap((file) => /^(\w+-)1\.json\.gz$/.exec(file)?.[1] ?? []);
      for (const file of readdirSync(folder))
        if (again.some((kind) => file.startsWith(kind))) rmSync(join(folder, file));
      for (const [file, text] of Object.entries(part.pages)) {
        writeWhole(join(folder, file), Buffer.from(text, "base64"));
      }
      [this.#last, this.#count] = [key, this.#count + 1];
    }
    return true;
  }
}

const numbered = (part: number) => String(part).padStart(6, "0");

/** Undefined when it is not a part: gzip has a checksum. */
function parse(bytes: Buffer | undefined): z.infer<typeof partSchema> | undefined {
  try {
    return partSchema.parse(unzip(bytes ?? Buffer.alloc(0)));
  } catch {
    return undefined;
  }
}
