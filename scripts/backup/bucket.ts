import { existsSync, mkdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import type { Cloudflare } from "../release/cloudflare.ts";
import { MANIFEST, type Manifest, readManifest } from "./archive.ts";

// Backups in an R2 bucket: the files of each under the name of its database and its moment.

const pathInBucket = ({ database, moment }: Manifest) => `${database}/${moment.time}`;

/** Copies a backup into a bucket. The manifest goes last, so that a backup without one is not finished. */
export async function upload(cloudflare: Cloudflare, bucket: string, folder: string): Promise<void> {
  const { manifest } = readManifest(folder);
  for (const file of [...filesOf(manifest), MANIFEST]) {
    const path = `${bucket}/${pathInBucket(manifest)}/${file}`;
    await cloudflare.wrangler(["r2", "object", "put", path, `--file=${join(folder, file)}`, "--remote"]);
  }
}

/**
 * Copies a backup from a bucket into a folder, but for the files that are there.
 *
 * @throws Error when the bucket has no finished backup of this name.
 */
export async function download(cloudflare: Cloudflare, bucket: string, path: string, folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const copy = async (file: string) => {
    const to = join(folder, file);
    if (existsSync(to)) return;
    // wrangler creates the file before it has anything to write.
    const unfinished = `${to}.unfinished`;
    try {
      await cloudflare.wrangler([
        "r2",
        "object",
        "get",
        `${bucket}/${path}/${file}`,
        `--file=${unfinished}`,
        "--remote",
      ]);
    } catch (error) {
      if (!/specified key does not exist/i.test(String(error))) throw error;
      throw new Error(
        `The bucket ${bucket} has no ${path}/${file}. A backup has the name <database>/<moment> there, and a ${MANIFEST} if it is finished.`,
        { cause: error },
      );
    }
    renameSync(unfinished, to);
  };
  await copy(MANIFEST);
  const { manifest } = readManifest(folder);
  if (pathInBucket(manifest) !== path)
    throw new Error(`${folder} has the backup ${pathInBucket(manifest)}. Remove the folder.`);
  for (const file of filesOf(manifest)) await copy(file);
}

const filesOf = ({ tables }: Manifest) => Object.values(tables).flatMap(({ files }) => files);
