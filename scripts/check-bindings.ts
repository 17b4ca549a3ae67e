// Checks that src/worker-configuration.d.ts is what wrangler makes of wrangler.toml now. `wrangler types --check` (4.155.0) compares a hash
// of the configuration alone, so it passes a file that was merged wrongly.
import { execFileSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "smol-toml";
import packageJson from "../package.json" with { type: "json" };
import { WRANGLER_SETTINGS } from "./wrangler.ts";

const FILE = "src/worker-configuration.d.ts";
// The command of the build would run in the folder, and write to it.
const { build: _build, ...configuration } = parse(readFileSync("wrangler.toml", "utf8"));
const folder = mkdtempSync(join(tmpdir(), "petstore-bindings-"));
try {
  writeFileSync(join(folder, "wrangler.json"), JSON.stringify(configuration));
  cpSync("src/index.ts", join(folder, "src/index.ts"));
  const [, ...args] = packageJson.scripts["generate:types"].split(" ");
  const program = join(import.meta.dirname, "../node_modules/wrangler/wrangler-dist/cli.js");
  execFileSync(process.execPath, [program, ...args], {
    cwd: folder,
    env: { ...process.env, ...WRANGLER_SETTINGS },
    encoding: "utf8",
  });
  if (readFileSync(FILE, "utf8") !== readFileSync(join(folder, FILE), "utf8")) {
    console.error(`${FILE} is not what wrangler.toml makes. Run: npm run generate:types`);
    process.exitCode = 1;
  }
} finally {
  rmSync(folder, { recursive: true });
}
