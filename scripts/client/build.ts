import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { CLIENT } from "./document.ts";

/**
 * Bytes of the whole client in a minified bundle, after gzip. The feed of events takes about a fifth of them: it knows the data of each
 * type, and goes on after every failure, over sockets too. It leaves room for a field or an operation more, which would otherwise ask for
 * denser code elsewhere.
 */
export const BUDGET_BYTES = 9.5 * 1024;

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
