import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { packClient } from "../../scripts/client/pack.ts";

const ROOT = join(import.meta.dirname, "../..");
const TSC = join(ROOT, "node_modules/typescript/bin/tsc");

/** A new project of somebody else, with the packed client installed and nothing of ours. */
export function newProject(): string {
  const folder = mkdtempSync(join(tmpdir(), "petstore-client-"));
  const archive = packClient(folder);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", archive], { cwd: folder, stdio: "ignore" });
  return folder;
}

/** Lets the project use a package of this one, for types. */
export function link(folder: string, name: string): void {
  symlinkSync(join(ROOT, "node_modules", name), join(folder, "node_modules", name));
}

/** Compiles a program at TypeScript's strictest, the declarations of the client included. Returns the faults. */
export function compile(folder: string, program: string, options: object): string {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    skipLibCheck: false,
    outDir: "compiled",
    target: "es2022",
    types: [],
    ...options,
  };
  writeFileSync(join(folder, "program.ts"), program);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const { stdout, stderr } = spawnSync(process.execPath, [TSC, "-p", folder], { encoding: "utf8" });
  return stdout + stderr;
}
