// npm run check:expand: checks that the code of the last release works on the newest schema, as it has to during every
// deployment, and that the current code continues with its data. Runs both on one database with many animals, and applies the
// later migrations while requests arrive.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newMigrations, previousRelease } from "./expand/previous-release.ts";
import { oneLine } from "../ops/one-line.ts";
import { bundleOf, checkOut } from "./revision.ts";
import { buildBundle } from "./wrangler.ts";

try {
  console.log(await check());
} catch (error) {
  console.error(oneLine(error));
  process.exitCode = 1;
}

/** @throws Error when the old code fails on the new schema or does not run. */
async function check(): Promise<string> {
  const release = previousRelease();
  if (release === undefined) return "There is no earlier release to compare with.";
  const migrations = newMigrations(release.commit);
  if (migrations.length === 0) return `There is no migration since ${release.name}.`;

  const folder = mkdtempSync(join(tmpdir(), "petstore-expand-"));
  try {
    const old = join(folder, "release");
    await checkOut(release.commit, old);
    // Imported here, because that takes more than a second and there may be nothing to check.
    const { upgrade } = await import("./expand/upgrade.ts");
    const before = { bundle: bundleOf(old), migrations: join(old, "drizzle") };
    const present = readFileSync(join(await buildBundle("production"), "index.js"), "utf8");
    await upgrade(before, { bundle: present, migrations: "drizzle" }).catch((error: unknown) => {
      const reason = `The code of ${release.name} fails on the schema of ${migrations.join(", ")}: ${oneLine(error)}`;
      throw new Error(reason, { cause: error });
    });
    return `The code of ${release.name} works on the schema of ${migrations.join(", ")}.`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
