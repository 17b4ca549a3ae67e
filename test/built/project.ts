import { execFileSync } from "node:child_process";
import { symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { inject } from "vitest";
import { type End, temporaryFolder } from "./folder.ts";

const OURS = join(import.meta.dirname, "../../node_modules");

/** A new project of a client developer, which has only the packed client. It goes as a `temporaryFolder` does. */
export function newProject(end?: End): string {
  const folder = temporaryFolder(end);
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module" }));
  execFileSync("npm", ["install", "--offline", "--no-audit", "--no-fund", inject("client")], {
    cwd: folder,
    stdio: "ignore",
  });
  return folder;
}

/** Links a package of this repository into the project. */
export function link(folder: string, name: string): void {
  symlinkSync(join(OURS, name), join(folder, "node_modules", name));
}
