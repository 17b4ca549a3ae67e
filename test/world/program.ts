import { execFileSync } from "node:child_process";
import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import { moduleOf, presentStatements, textsOf } from "../../scripts/compile-statements.ts";
import type { Clock, Timer } from "./clock.ts";
import type { Random } from "./random.ts";
import { socketsOf } from "./sockets.ts";

const ROOT = join(import.meta.dirname, "../..");

/** A program that sees nothing of the machine: its time and its chance come from the world. Each run has a memory of its own. */
export type Program<Exports> = (surroundings: Surroundings) => Exports;

/** What a program gets instead of the globals of the same names. */
export interface Surroundings {
  clock: Clock;
  random: Random;
  /** Milliseconds that its clock is ahead of that of the world. */
  skew: () => number;
  /** A program that has ended gets no more events. */
  isAlive: () => boolean;
  onError: (line: string) => void;
  onWarning?: (line: string) => void;
  fetch?: typeof fetch;
}

/** "Function" is one that fails, because workerd has no `eval`. */
const GLOBALS = [
  "Function",
  "Date",
  "Math",
  "setTimeout",
  "clearTimeout",
  "scheduler",
  "performance",
  "crypto",
  "console",
  "AbortSignal",
  "fetch",
  "Response",
  "WebSocketPair",
  "WebSocketRequestResponsePair",
];

/**
 * Bundles a module and all that it imports.
 *
 * @param root the folder of the source.
 */
export async function programOf<Exports>(entry: string, root = ROOT): Promise<Program<Exports>> {
  const { outputFiles } = await build({
    entryPoints: [join(root, entry)],
    absWorkingDir: root,
    nodePaths: [join(ROOT, "node_modules")],
    bundle: true,
    format: "iife",
    globalName: "program",
    target: "es2024",
    write: false,
    logLevel: "silent",
    alias: { "cloudflare:workers": join(import.meta.dirname, "cloudflare-workers.ts") },
    plugins: [presentStatements],
  });
  const code = `"use strict";${outputFiles[0]?.text}\nreturn program;`;
  // oxlint-disable-next-line typescript/no-implied-eval -- so that a program can run many times, each with its own globals
  const run = new Function(...GLOBALS, code) as (...globals: unknown[]) => Exports;
  return (surroundings) => run(...globalsOf(surroundings));
}

/** A module and all that it imports as of a commit, with the packages of today. */
export const programAt = <Exports>(commit: string, entry: string): Promise<Program<Exports>> =>
  programIn(entry, (folder) => {
    const files = execFileSync("git", ["archive", commit, "src", "drizzle", "package.json"], {
      cwd: ROOT,
      maxBuffer: 2 ** 28,
    });
    execFileSync("tar", ["-x", "-C", folder], { input: files });
  });

/** Texts of files of src, each with its file and what stands in its place. */
export type Edits = readonly (readonly [file: string, text: string, other: string])[];

/** A module and all that it imports, with other texts. The statements are theirs too. */
export const programWith = <Exports>(entry: string, edits: Edits): Promise<Program<Exports>> =>
  programIn(entry, async (folder) => {
    for (const part of ["src", "drizzle", "package.json"])
      cpSync(join(ROOT, part), join(folder, part), { recursive: true });
    for (const [name, text, other] of edits) {
      const file = join(folder, "src", name);
      const source = readFileSync(file, "utf8");
      if (!source.includes(text)) throw new Error(`src/${name} has no ${text}`);
      writeFileSync(
        file,
        source.replace(text, () => other),
      );
    }
    writeFileSync(join(folder, "drizzle/statements.ts"), moduleOf(await textsOf(undefined, folder)));
  });

async function programIn<Exports>(
  entry: string,
  fill: (folder: string) => void | Promise<void>,
): Promise<Program<Exports>> {
  const folder = mkdtempSync(join(tmpdir(), "petstore-world-"));
  try {
    await fill(folder);
    return await programOf<Exports>(entry, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function noFunction(): never {
  throw new EvalError("Code generation from strings disallowed for this context");
}

function globalsOf({ clock, random, skew, isAlive, onError, onWarning = () => {}, fetch }: Surroundings): unknown[] {
  const now = () => Math.floor(clock.now + skew());
  class WorldDate extends Date {
    constructor(...given: unknown[]) {
      super(...((given.length === 0 ? [now()] : given) as []));
    }
    static override now = now;
  }
  const after = (run: () => void, milliseconds = 0) =>
    clock.after(milliseconds, () => {
      if (isAlive()) run();
    });
  const print = (line: unknown) => onError(String(line));
  const timeout = (milliseconds: number) => {
    const controller = new AbortController();
    after(() => controller.abort(new DOMException("The time is over", "TimeoutError")), milliseconds);
    return controller.signal;
  };
  return [
    noFunction,
    WorldDate,
    Object.assign(Object.create(Math), { random: random.next }),
    after,
    (timer: Timer | undefined) => clock.cancel(timer),
    { wait: (milliseconds: number) => new Promise<void>((resolve) => void after(resolve, milliseconds)) },
    { now: () => clock.now },
    {
      randomUUID: () => random.uuid(),
      getRandomValues: (values: Uint8Array | Uint32Array) =>
        values.map(() => random.between(0, 2 ** (8 * values.BYTES_PER_ELEMENT) - 1)),
      // Node's own digest and HMAC run in a thread, whose time does not come from the seed.
      subtle: {
        importKey: async (_format: string, bytes: Uint8Array) => bytes,
        sign: async (_name: string, key: Uint8Array, data: Uint8Array) =>
          new Uint8Array(createHmac("sha256", key).update(data).digest()).buffer,
        verify: async (_name: string, key: Uint8Array, mac: Uint8Array, data: Uint8Array) => {
          const own = createHmac("sha256", key).update(data).digest();
          return own.length === mac.length && timingSafeEqual(own, mac);
        },
        digest: async (_name: string, data: Uint8Array) =>
          new Uint8Array(createHash("sha256").update(data).digest()).buffer,
      },
    },
    { log: () => {}, info: () => {}, debug: () => {}, warn: (line: unknown) => onWarning(String(line)), error: print },
    { timeout },
    fetch,
    ...socketsOf(clock, random),
  ];
}
