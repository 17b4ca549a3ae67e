import fc from "fast-check";
import { expect, test } from "vitest";
import type { Int64 } from "../../src/exact/int64.ts";
import { decodeCursor, encodeCursor } from "../../src/http/cursor.ts";

const id = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((integer) => String(integer) as Int64);

test("a cursor decodes to its id, for every int64", () => {
  fc.assert(
    fc.property(id, (after) => {
      expect(encodeCursor(after)).toMatch(/^[\w-]{16}$/);
      expect(decodeCursor(encodeCursor(after))).toBe(after);
    }),
  );
});

test("a cursor with one changed character is invalid", () => {
  fc.assert(
    fc.property(id, fc.nat({ max: 15 }), fc.base64String({ minLength: 4, maxLength: 4 }), (after, index, letters) => {
      const cursor = encodeCursor(after);
      const letter = letters.replace("+", "-").replace("/", "_").charAt(0);
      fc.pre(letter !== cursor[index] && letter !== "=");
      expect(decodeCursor(cursor.slice(0, index) + letter + cursor.slice(index + 1))).toBeUndefined();
    }),
  );
});

test("any other text is invalid", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\w-]{16}$/)), (text) => {
      expect(decodeCursor(text)).toBeUndefined();
    }),
  );
});
