import fc from "fast-check";
import { expect, test } from "vitest";
import { bearerToken } from "../../src/auth/bearer.ts";
import { isWellFormedKey } from "../../src/auth/key-format.ts";
import { MERGE_PATCH } from "../../src/http/body.ts";
import { BOOKMARK } from "../../src/http/bookmark.ts";
import { boundedPath } from "../../src/http/path.ts";
import { parseIfMatch } from "../../src/http/precondition.ts";
import { parseIdempotencyKey } from "../../src/idempotency/header.ts";
import { parseExact, toInt64 } from "../../src/exact/json.ts";
import { isInt64 } from "../../src/exact/int64.ts";
import { decodeCursor } from "../../src/http/cursor.ts";
import { parseTraceParent } from "../../src/trace-parent.ts";
import { newPet } from "../../src/pets/create-pet.ts";
import { listPetsQuery } from "../../src/pets/list-pets.ts";

// Whatever looks at what a stranger sends has to take time in proportion to its length. Runs in Node rather than in workerd: the
// regular expressions are the same (V8), and only Node tells the CPU time of a thread, which other processes do not disturb.

const READERS: { [name: string]: (text: string) => unknown } = {
  "a path": (text) => boundedPath(new Request(`https://pets.example/${text.replaceAll(/[?#]/g, "")}`)),
  "the Authorization header": bearerToken,
  "an API key": (text) => isWellFormedKey(text, "production"),
  "the Idempotency-Key header": parseIdempotencyKey,
  "the x-d1-bookmark header": (text) => BOOKMARK.test(text),
  "the traceparent header": parseTraceParent,
  "the Content-Type header": (text) => MERGE_PATCH.expression.test(text),
  "the If-Match header": parseIfMatch,
  "an id in the path": isInt64,
  "a cursor": decodeCursor,
  "the query of the list": (text) => listPetsQuery().safeParse({ limit: text, status: text, cursor: text }).success,
  "a body": (text) => {
    try {
      return parseExact(text);
    } catch {
      return undefined;
    }
  },
  "a name": (text) => newPet().safeParse({ name: text, categoryId: 1 }).success,
  "a number": (text) => toInt64(parseExactNumber(text)),
};

function parseExactNumber(text: string): unknown {
  try {
    return parseExact(`[1.0,${text}]`);
  } catch {
    return undefined;
  }
}

/** What a reader waits for, repeated: pieces that look like the beginning of what it takes, and characters that end a match late. */
const piece = fc.oneof(
  fc.constantFrom(...' \t01a-_.e"\\[{;%🐕\u2028'),
  fc.constantFrom('\\"', "%80a", "%ZZ", "1,", "1.0,", "0.0", "1e1,"),
);
const start = fc.constantFrom(
  "",
  "Bearer ",
  "petstore_production_",
  "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",
  '"',
  "application/json",
  "1.",
  "-",
  "[",
  "0.",
  "[1.0",
);
const end = fc.constantFrom("", "\u2028", "!", "x", '"', "]", "\n", "1");

const SHORT = 4_000;
/** How many times the short text is read, and how much longer the long one is. Quadratic time would take so many times as long. */
const FACTOR = 8;
const ALLOWED_RATIO = FACTOR / 2;
/** Microseconds. The clock of a thread and a collection of garbage can take as much; quadratic time takes half a second. */
const NEGLIGIBLE = 20_000;

function cpuMicroseconds(run: () => unknown): number {
  const before = process.threadCpuUsage();
  run();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}

function median(samples: number[]): number {
  return samples.toSorted((a, b) => a - b)[Math.floor(samples.length / 2)] ?? Number.NaN;
}

test.each(Object.entries(READERS))("%s is read in linear time", (_, read) => {
  fc.assert(
    fc.property(start, fc.array(piece, { minLength: 1, maxLength: 2 }), end, (head, pieces, tail) => {
      const unit = pieces.join("");
      const text = (length: number) => head + unit.repeat(Math.ceil(length / unit.length)) + tail;
      const [short, long] = [text(SHORT), text(SHORT * FACTOR)];
      const cost = (run: () => unknown) => median(Array.from({ length: 3 }, () => cpuMicroseconds(run)));
      const once = cost(() => read(long));
      const often = cost(() => {
        for (let i = 0; i < FACTOR; i++) read(short);
      });
      expect(once / Math.max(often, NEGLIGIBLE), text(60)).toBeLessThan(ALLOWED_RATIO);
    }),
    { numRuns: 150, examples: [["Bearer ", [" "], "\u2028"]] },
  );
});
