import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "esbuild";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Server } from "../../bench/server.ts";
import { COMPATIBILITY_DATE } from "../../scripts/bundles.ts";
import { temporaryFolder } from "./folder.ts";
import { READERS, type Reader, type Task, type Text } from "./linear-time/readers.ts";

// Every reader of untrusted input has to take linear time. This test measures in workerd, because an expression that is linear in
// Node can be quadratic there. Only Linux reports the exact CPU time of another process.

const folder = temporaryFolder();
let server: Server;
beforeAll(async () => {
  await build({
    entryPoints: [join(import.meta.dirname, "linear-time/readers.ts")],
    outfile: join(folder, "readers.js"),
    bundle: true,
    format: "esm",
    conditions: ["workerd", "worker", "browser"],
  });
  const config = join(folder, "config.capnp");
  writeFileSync(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = (
    modules = [(name = "readers.js", esModule = embed "readers.js")],
    compatibilityDate = "${COMPATIBILITY_DATE}"
  ))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")]
);
`,
  );
  server = await Server.start({ config });
});
afterAll(() => server[Symbol.asyncDispose]());

const SAMPLES = 4;
/** Microseconds. A garbage collection can take as much. Quadratic time takes far more. */
const NEGLIGIBLE = 5_000;

/** Microseconds of CPU for reading each text so many times. */
async function sample(task: Task): Promise<number> {
  const start = server.cpuMicroseconds();
  const response = await fetch(`http://127.0.0.1:${server.port}`, { method: "POST", body: JSON.stringify(task) });
  await response.arrayBuffer();
  return Math.max(server.cpuMicroseconds() - start, NEGLIGIBLE);
}

/**
 * How many times as much one task costs: of the minima of some samples, because the first ones compile. They alternate, because the
 * machine may be busy for a while. If that is far below what is allowed, more of them say no more.
 */
async function ratio(task: Task, other: Task, allowed: number): Promise<number> {
  let [one, two] = [Infinity, Infinity];
  for (let count = 0; count < SAMPLES && !(one / two < allowed / 4); count++) {
    one = Math.min(one, await sample(task));
    if (one === NEGLIGIBLE) return 1;
    two = Math.min(two, await sample(other));
  }
  return one / two;
}

/** Repeated pieces that look like the beginning of valid input, and characters that end a match late. */
const piece = fc.oneof(
  fc.constantFrom(...' \t01a-_.e"\\[{;%🐕\u2028'),
  fc.constantFrom("\uFDFA", "a猫", "ｶﾞ", "é\u00AD", "𝔘", "ﷺ "),
  fc.constantFrom('\\"', "%80a", "%ZZ", "1,", "1.0,", "0.0", "1e1,", "1e-100,", "1234567890123456,", '"#":1,'),
);
const start = fc.constantFrom(
  "",
  "Bearer ",
  "petstore_production_",
  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
  '"',
  "application/json",
  "text/markdown;q=",
  "1.",
  "-",
  "[",
  "0.",
  "[1234567890123456,",
  "2026-11-22T08:30:00.",
);
const end = fc.constantFrom("", "\u2028", "!", "x", '"', "]", "\n", "1");

const SHORT = 1_000;
/**
 * The factor between the lengths of the two texts, and the number of reads of the short one. Quadratic time would take this many
 * times as long.
 */
const FACTOR = 64;
/** The collection of more garbage adds to the longer one. */
const ALLOWED_RATIO = 16;
/** Bodies that are expensive for a reviver. */
const EXPENSIVE_BODIES = [
  ['{"a":1.0,', '"#":1,', '"b":1}'],
  ['{"a":1234567890123456,', '"#":1,', '"b":1}'],
  ["[1.0,", "1,", "1]"],
  ["[1234567890123456,", "{},", "1]"],
  ["[", "9223372036854775807,", "1]"],
  ["[", "1e-100,", "1]"],
  ["[", "1e14,", "1]"],
  ["[1234567890123456,", '"",', "1]"],
] as const;

type Pieces = Omit<Text, "length">;
const EXAMPLES: Pieces[] = [
  { head: "Bearer ", unit: " ", tail: "\u2028" },
  ...EXPENSIVE_BODIES.map(([head, unit, tail]) => ({ head, unit, tail })),
];
const pieces: fc.Arbitrary<Pieces> = fc.record({
  head: start,
  unit: fc.array(piece, { minLength: 1, maxLength: 2 }).map((parts) => parts.join("")),
  tail: end,
});
/** Texts that are read in one request. Few of them are expensive. */
const GROUP = 10;
/** Texts of a reader, beside the examples. Of a batch, only the length counts. Folding takes long. */
const textsOf = (reader: Reader) => (reader === "a batch" ? 1 : reader.startsWith("the words") ? 10 : 100);

const long = (text: Pieces): Text => ({ ...text, length: SHORT * FACTOR });

describe.runIf(process.platform === "linux")("in workerd", () => {
  test.for(Object.keys(READERS) as Reader[])("%s is read in linear time", async (reader) => {
    const all = [...EXAMPLES, ...fc.sample(pieces, textsOf(reader))];
    while (all.length > 0) {
      const group = all.splice(0, GROUP);
      if ((await sample({ reader, texts: group.map(long), times: 1 })) === NEGLIGIBLE) continue;
      for (const text of group) {
        const short = { reader, texts: [{ ...text, length: SHORT }], times: FACTOR };
        const times = await ratio({ reader, texts: [long(text)], times: 1 }, short, ALLOWED_RATIO);
        expect(times, JSON.stringify(text)).toBeLessThan(ALLOWED_RATIO);
      }
    }
  });

  test.for(EXPENSIVE_BODIES)(
    "a body of %s%s... costs a few times what JSON.parse costs",
    async ([head, unit, tail]) => {
      const texts = [{ head, unit, tail, length: 65_000 }];
      const times = 10;
      const parsing = { reader: "JSON.parse", texts, times } as const;
      expect(await ratio({ ...parsing, reader: "a body" }, parsing, 25)).toBeLessThan(25);
    },
  );
});
