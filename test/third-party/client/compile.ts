import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";

/** The compiler of this project, the last one of the previous generation, and the oldest one that the client's README names. */
export const COMPILERS = {
  "TypeScript 7": join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc"),
  "TypeScript 5.9": join(import.meta.dirname, "../node_modules/typescript/bin/tsc"),
  "TypeScript 5.0": join(import.meta.dirname, "../node_modules/typescript50/bin/tsc"),
};

/** Compiles a program and the declarations of the client with TypeScript's strictest options. */
export function compile(
  folder: string,
  program: string,
  options: object,
  compiler: keyof typeof COMPILERS,
): { status: number | null; output: string } {
  const compilerOptions = {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    noPropertyAccessFromIndexSignature: true,
    skipLibCheck: false,
    outDir: "compiled",
    rootDir: ".",
    target: "es2022",
    types: [],
    ...options,
  };
  writeFileSync(join(folder, "program.ts"), program);
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
  const { status, stdout, stderr } = spawnSync(process.execPath, [COMPILERS[compiler], "-p", folder], {
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}
