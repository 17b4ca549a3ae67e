import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { CLIENT } from "./document.ts";

/** Bundles a program that imports the built client for a browser. Returns its size in bytes after gzip. */
export async function clientSize(program: string): Promise<number> {
  const { outputFiles } = await build({
    stdin: { contents: program, resolveDir: join(CLIENT, "dist") },
    bundle: true,
    minify: true,
    format: "esm",
    platform: "browser",
    write: false,
  });
  return gzipSync(outputFiles[0]?.contents ?? "").length;
}
