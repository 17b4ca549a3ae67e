import { existsSync, mkdirSync, openAsBlob } from "node:fs";
import { join } from "node:path";
import { ApiFailure } from "../release/api.ts";
import type { Cloudflare } from "../release/cloudflare.ts";
import type { Terminal } from "../terminal.ts";
import {
  MANIFEST,
  type Manifest,
  type ManifestContents,
  PRIVATE_FOLDER,
  readManifest,
  writeWhole,
} from "./manifest.ts";

/** Milliseconds for one file: 128 MiB with two megabits a second. */
const TIMEOUT = 600_000;
/** The codes of a bucket and of an object that do not exist (R2 documentation, Error codes). */
const NO_BUCKET = 10_006;
const NO_OBJECT = 10_007;

/** A bucket of R2. Its methods throw an Error when it does not exist, and when Cloudflare fails. */
export class Bucket {
  readonly name: string;
  readonly #cloudflare: Cloudflare;
  readonly #headers: Record<string, string>;
  readonly #where: string;

  /** @param jurisdiction of the bucket, which is part of its identity. */
  constructor(cloudflare: Cloudflare, name: string, jurisdiction?: string) {
    this.name = name;
    this.#cloudflare = cloudflare;
    this.#headers = jurisdiction === undefined ? {} : { "cf-r2-jurisdiction": jurisdiction };
    this.#where = jurisdiction === undefined ? "without a jurisdiction" : `in the jurisdiction ${jurisdiction}`;
  }

  /** The names of the objects whose names begin like this, in their order. */
  async list(prefix: string): Promise<string[]> {
    const path = `/r2/buckets/${this.name}/objects?prefix=${encodeURIComponent(prefix)}`;
    const found = await this.#ask(this.#cloudflare.listByCursor<{ key: string }>(path, this.#headers));
    return (found ?? []).map(({ key }) => key).toSorted();
  }

  async put(key: string, body: Blob): Promise<void> {
    await this.#ask(this.#cloudflare.send({ ...this.#request(key), method: "PUT", body }));
  }

  /** The bytes of an object, or undefined when there is none. */
  async get(key: string): Promise<Buffer | undefined> {
    return this.#ask(this.#cloudflare.getBytes(this.#request(key)));
  }

  /** Removes an object, if it is there: another run or an attempt without a response may have removed it. */
  async delete(key: string): Promise<void> {
    await this.#ask(this.#cloudflare.send({ ...this.#request(key), method: "DELETE" }));
  }

  #request(key: string) {
    return { path: `/r2/buckets/${this.name}/objects/${key}`, headers: this.#headers, timeout: TIMEOUT };
  }

  /** Undefined when there is no such object. */
  async #ask<Result>(request: Promise<Result>): Promise<Result | undefined> {
    return request.catch((error: unknown) => {
      const codes = error instanceof ApiFailure ? error.codes : [];
      if (codes.includes(NO_OBJECT)) return undefined;
      if (!codes.includes(NO_BUCKET)) throw error;
      throw new Error(`The account has no bucket ${this.name} ${this.#where}.`, { cause: error });
    });
  }
}

// A backup in a bucket: its files under the name of its database and its moment.

const pathInBucket = ({ database, moment }: ManifestContents) => `${database}/${moment.time}`;

/** Copies a backup into a bucket. The manifest goes last, so that a backup without one is not finished. */
export async function upload(bucket: Bucket, folder: string, terminal: Terminal): Promise<void> {
  const { manifest } = readManifest(folder);
  for (const file of [...filesOf(manifest), MANIFEST]) {
    const path = `${pathInBucket(manifest)}/${file}`;
    terminal.say(`Copying ${file} to ${bucket.name}/${path} ...`);
    await bucket.put(path, await openAsBlob(join(folder, file)));
  }
}

/**
 * Removes the backups of a database from before a time, if a bucket has a later one that is finished: the last one always stays.
 *
 * @param newest the later one.
 * @param keep milliseconds before its moment.
 */
export async function removeOld(
  bucket: Bucket,
  newest: ManifestContents,
  keep: number,
  terminal: Terminal,
): Promise<void> {
  const { database, moment } = newest;
  const keys = await bucket.list(`${database}/`);
  if (!keys.includes(`${pathInBucket(newest)}/${MANIFEST}`)) return;
  const oldest = `${database}/${new Date(Date.parse(moment.time) - keep).toISOString()}`;
  const old = keys.filter((key) => /\/\d{4}-\d\d-\d\dT[\d:.]+Z\//.test(key) && key < oldest);
  // The manifest goes first: a backup that is there in part is not finished.
  for (const key of old.toSorted((a, b) => Number(b.endsWith(MANIFEST)) - Number(a.endsWith(MANIFEST)))) {
    terminal.say(`Removing ${bucket.name}/${key} ...`);
    await bucket.delete(key);
  }
}

/**
 * Copies a backup from a bucket into a folder, but for the files that are there.
 *
 * @throws Error when the bucket has no finished backup of this name.
 */
export async function download(bucket: Bucket, path: string, folder: string, terminal: Terminal): Promise<void> {
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
  const copy = async (file: string) => {
    const to = join(folder, file);
    if (existsSync(to)) return;
    terminal.say(`Copying ${bucket.name}/${path}/${file} ...`);
    const bytes = await bucket.get(`${path}/${file}`);
    if (bytes === undefined)
      throw new Error(
        `The bucket ${bucket.name} has no ${path}/${file}. A backup has the name <database>/<moment> there, and a ${MANIFEST} if it is finished.`,
      );
    writeWhole(to, bytes);
  };
  await copy(MANIFEST);
  const { manifest } = readManifest(folder);
  if (pathInBucket(manifest) !== path)
    throw new Error(`${folder} has the backup ${pathInBucket(manifest)}. Remove the folder.`);
  for (const file of filesOf(manifest)) await copy(file);
}

const filesOf = ({ tables }: Manifest) => Object.values(tables).flatMap(({ files }) => files);
