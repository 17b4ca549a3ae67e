// npm run pack:client: packs the client of a release into client/released, from where every deployment serves it. The package is the
// same on every machine. Once its digest is committed, it cannot change.
import { appendFileSync, copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { DIGESTS, readPackages, RELEASED } from "../openapi/packages.ts";
import { CLIENT } from "./client/document.ts";
import { packClient } from "./client/pack.ts";
import { digestOf } from "./client/released.ts";

const folder = mkdtempSync(join(tmpdir(), "petstore-package-"));
try {
  // Files of deleted sources would be packed too.
  rmSync(join(CLIENT, "dist"), { recursive: true, force: true });
  const path = packClient(folder);
  const file = basename(path);
  const sha256 = digestOf(path);
  const packed = readPackages().find((one) => one.file === file);
  if (packed === undefined) {
    copyFileSync(path, join(RELEASED, file));
    appendFileSync(join(RELEASED, DIGESTS), `${sha256}  ${file}\n`);
    console.log(`client/released/${file} has the SHA-256 ${sha256}.`);
  } else if (packed.sha256 === sha256) {
    console.log(`${file} is packed already, from the same source.`);
  } else {
    console.error(
      `${file} is packed already, from another source. Raise the version in client/package.json. Only a package that no deployment of a release has served may be packed again: remove it and its line in client/released/${DIGESTS} first.`,
    );
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
