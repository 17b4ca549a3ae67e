// npm run pack:renderer -- <version>: packs the browser build of Scalar's API reference into openapi/renderer. Its own package brings 270
// others (1.72.1) that no page loads, and has no copy of its licence. The package is the same on every machine.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const NAME = "@scalar/api-reference";
const FOLDER = join(import.meta.dirname, "../openapi/renderer");

const [version = ""] = process.argv.slice(2);
if (!/^\d+\.\d+\.\d+$/.test(version)) {
  console.error("Usage: npm run pack:renderer -- <version>");
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), "petstore-renderer-"));
try {
  const [{ filename, integrity }] = pack(folder, `${NAME}@${version}`);
  execFileSync("tar", ["-xzf", filename, "package/dist/browser"], { cwd: folder });
  const browser = join(folder, "package/dist/browser");
  for (const file of readdirSync(browser, { recursive: true, encoding: "utf8" })) {
    if (file.endsWith(".map") || file === "standalone.js") rmSync(join(browser, file));
  }
  cpSync(join(FOLDER, "LICENSE"), join(folder, "package/LICENSE"));
  const description = `The browser build of ${NAME} ${version} (${integrity})`;
  const packageJson = { name: NAME, version, description, license: "MIT" };
  writeFileSync(join(folder, "package/package.json"), `${JSON.stringify(packageJson, null, 2)}\n`);
  const [packed] = pack(FOLDER, join(folder, "package"));
  console.log(`openapi/renderer/${packed.filename} has the integrity ${packed.integrity}.`);
} finally {
  rmSync(folder, { recursive: true });
}

function pack(destination: string, spec: string): [{ filename: string; integrity: string }] {
  const args = ["pack", spec, "--json", "--pack-destination", destination];
  return JSON.parse(execFileSync("npm", args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
}
