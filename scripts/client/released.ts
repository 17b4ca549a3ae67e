import { createHash } from "node:crypto";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { DIGESTS, readPackages } from "../../openapi/packages.ts";

/**
 * One sentence for each fault of the packages that deployments serve. A lock file names a package by its address and its digest,
 * so a package never changes.
 *
 * @param folder with the packages and their digests.
 * @param version of the client, which has to be among them.
 */
export function findPackageFaults(folder: string, version: string): string[] {
  const packages = readPackages(folder);
  const files = readdirSync(folder).filter((file) => file !== DIGESTS);
  return [
    ...packages.flatMap(({ file, sha256 }) => {
      if (!files.includes(file)) return [`client/released/${file} is gone. Lock files of clients name it: restore it.`];
      return digestOf(join(folder, file)) === sha256
        ? []
        : [`client/released/${file} has changed. Lock files of clients have its digest: restore it.`];
    }),
    ...files
      .filter((name) => !packages.some(({ file }) => file === name))
      .map((name) => `client/released/${name} has no digest in ${DIGESTS}. Run npm run pack:client.`),
    ...(packages.at(-1)?.version === version
      ? []
      : [`The newest package is not that of version ${version}. Run npm run pack:client.`]),
  ];
}

/** The SHA-256 of a file, in hexadecimal. */
export function digestOf(path: string): string {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}
