import fc from "fast-check";
import { expect, test } from "vitest";
import { SORTS } from "../../src/db/page.ts";
import type { Int64 } from "../../src/exact/int64.ts";
import { decodeCursor, encodeCursor, type Position } from "../../src/http/cursor.ts";

const position: fc.Arbitrary<Position> = fc.record({
  after: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((integer) => String(integer) as Int64),
  sort: fc.constantFrom(...SORTS),
});

test("a cursor decodes to its place, for every int64 and each order", () => {
  fc.assert(
    fc.property(position, (place) => {
      expect(encodeCursor(place)).toMatch(/^[\w-]{16}$/);
      expect(decodeCursor(encodeCursor(place))).toEqual(place);
    }),
  );
});

test("a cursor from before there were two orders stays valid", () => {
  expect(encodeCursor({ after: "2" as Int64, sort: "id" })).toBe("AAAAAAAAAAKLLL5F");
});

test("a cursor with one changed character is invalid", () => {
  fc.assert(
    fc.property(
      position,
      fc.nat({ max: 15 }),
      fc.base64String({ minLength: 4, maxLength: 4 }),
      (place, index, letters) => {
        const cursor = encodeCursor(place);
        const letter = letters.replace("+", "-").replace("/", "_").charAt(0);
        fc.pre(letter !== cursor[index] && letter !== "=");
        expect(decodeCursor(cursor.slice(0, index) + letter + cursor.slice(index + 1))).toBeUndefined();
      },
    ),
  );
});

test("any other text is invalid", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\w-]{16}$/)), (text) => {
      expect(decodeCursor(text)).toBeUndefined();
    }),
  );
});
