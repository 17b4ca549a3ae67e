// The packages of the client that every deployment serves.
import { readFileSync } from "node:fs";
import { join } from "node:path";

/** The packages, and their digests in the form of sha256sum. `npm run pack:client` adds one. */
export const RELEASED = join(import.meta.dirname, "../client/released");
export const DIGESTS = "SHA256SUMS";

interface Package {
  /** For example `petstore-client-1.2.0.tgz`. */
  file: string;
  version: string;
  /** Hexadecimal. */
  sha256: string;
}

/** In the order in which they were packed: the last one is the newest. */
export function readPackages(folder = RELEASED): Package[] {
  const lines = readFileSync(join(folder, DIGESTS), "utf8").split("\n").slice(0, -1);
  return lines.map((line) => {
    const { sha256, file, version } =
      /^(?<sha256>[0-9a-f]{64}) {2}(?<file>petstore-client-(?<version>.+)\.tgz)$/.exec(line)?.groups ?? {};
    if (sha256 === undefined || file === undefined || version === undefined)
      throw new Error(`${DIGESTS} has a line in another form: ${line}`);
    return { file, version, sha256 };
  });
}

/** A Markdown table of the packages, the newest first. A package cannot have its own digest in its README. */
export function packageTable(): string {
  const rows = readPackages()
    .toReversed()
    .map(({ file, version, sha256 }) => `| [\`${file}\`](/docs/${file}) | ${version} | \`${sha256}\` |`);
  return ["| Package | Version | SHA-256 |", "| --- | --- | --- |", ...rows].join("\n");
}
