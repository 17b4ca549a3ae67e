import fc from "fast-check";
import { expect, test } from "vitest";
import { parseExact, toInt64 } from "../../src/exact/json.ts";
import { isInt64 } from "../../src/exact/int64.ts";

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const int64 = fc.bigInt({ min: MIN, max: MAX });

test("every int64 is parsed exactly", () => {
  fc.assert(
    fc.property(int64, (integer) => {
      const { n } = parseExact(`{"n":${integer}}`) as { n: unknown };
      expect(toInt64(n)).toBe(String(integer));
    }),
  );
});

test("an integer is the same in every notation", () => {
  fc.assert(
    fc.property(int64, fc.nat({ max: 25 }), fc.nat({ max: 25 }), (integer, zeros, shift) => {
      const negative = integer < 0n;
      const digits = String(negative ? -integer : integer).padStart(shift + 1, "0");
      const split = digits.length - shift;
      const spelled = `${negative ? "-" : ""}${BigInt(digits.slice(0, split))}.${digits.slice(split)}${"0".repeat(zeros + 1)}e${shift}`;
      expect(toInt64(parseExact(spelled)), spelled).toBe(String(integer));
      const shifted = integer === 0n ? "0" : `${integer}${"0".repeat(zeros)}`;
      expect(toInt64(parseExact(`${shifted}e-${zeros}`))).toBe(String(integer));
    }),
  );
});

test("a fraction is not an integer, however small", () => {
  fc.assert(
    fc.property(int64, fc.nat({ max: 40 }), fc.integer({ min: 1, max: 9 }), (integer, zeros, digit) => {
      expect(toInt64(parseExact(`${integer}.${"0".repeat(zeros)}${digit}`))).toBeUndefined();
    }),
  );
});

test("an integer outside the range of int64 is refused", () => {
  fc.assert(
    fc.property(fc.oneof(fc.bigInt({ min: MAX + 1n }), fc.bigInt({ max: MIN - 1n })), (integer) => {
      expect(toInt64(parseExact(String(integer)))).toBeUndefined();
      expect(isInt64(String(integer))).toBe(false);
    }),
  );
});

test("apart from integers, the result equals that of JSON.parse", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom("", " ", "\n\t"), (value, space) => {
      const text = JSON.stringify(value, undefined, space);
      // The first number is one that JSON.parse may round, and shows how such a number begins.
      const [[mark], exact] = parseExact(`[1234567890123456, ${text}]`) as [unknown[], unknown];
      const isLong = (v: unknown) => Array.isArray(v) && v[0] === mark;
      const withoutNumbers = (_: string, v: unknown) => (typeof v === "number" || isLong(v) ? "a number" : v);
      expect(JSON.stringify(exact, withoutNumbers)).toBe(JSON.stringify(JSON.parse(text), withoutNumbers));
    }),
  );
});

test("isInt64 accepts only the canonical decimal form", () => {
  fc.assert(
    fc.property(int64, (integer) => {
      expect(isInt64(String(integer))).toBe(true);
    }),
  );
  for (const text of ["", "-", "-0", "00", "01", "+1", "1.0", "1e3", " 1", "1\n", "0x1", "١"]) {
    expect(isInt64(text), text).toBe(false);
  }
});
