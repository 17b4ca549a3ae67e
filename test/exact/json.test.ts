import fc from "fast-check";
import { expect, test } from "vitest";
import { isFromFloat, parseExact, toInt64, toInteger } from "../../src/exact/json.ts";
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

const isLarge = (integer: bigint) => integer >= 10n ** 14n || integer <= -(10n ** 14n);

test("an integer is the same in every notation, and one that may have been rounded is told by its notation", () => {
  fc.assert(
    fc.property(
      fc.oneof(int64, fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n })),
      fc.nat({ max: 25 }),
      fc.nat({ max: 25 }),
      (integer, zeros, shift) => {
        const negative = integer < 0n;
        const digits = String(negative ? -integer : integer).padStart(shift + 1, "0");
        const split = digits.length - shift;
        const shifted = integer === 0n ? "0" : `${integer}${"0".repeat(zeros)}`;
        for (const spelled of [
          `${negative ? "-" : ""}${BigInt(digits.slice(0, split))}.${digits.slice(split)}${"0".repeat(zeros + 1)}e${shift}`,
          `${shifted}e-${zeros}`,
          `${integer}.0`,
          `${integer}E+000`,
        ]) {
          const { n } = parseExact(`{"n":${spelled}}`) as { n: unknown };
          expect(toInteger(n), spelled).toBe(String(integer));
          expect(isFromFloat(n), spelled).toBe(isLarge(integer));
          expect(toInt64(n), spelled).toBe(isLarge(integer) ? undefined : String(integer));
        }
      },
    ),
  );
});

test.each([
  ["1e14 1E14 1e+14 -1e14 0.1e16 10e13 9e18 9e99 1e999999999 -1.5e300 100000000000000.0 123456789012345.5", true],
  ["99999999999999.0 99999999999999e0 1e13 9e9 0e99 0.0e400 -0e15 1e-999999999 1.0 1e3 100000000000000", false],
  // As lua-cjson, jsonlite and Gson write large integers, and as they write small ones.
  ["1.2345678901234e+14 9.00719925474099e+15 9.007199254740992E15 1.0000000000000000e+014", true],
  ["1234567.0 1.0000000000000000E+003 1.2345678901234e+13 1e+05", false],
])("of these, each has passed through a float: %s is %s", (numbers, isFloat) => {
  for (const number of numbers.split(" "))
    for (const read of [`{"n":${number}}`, `{"n":${number} ,"x":[1,"1e3"]}`, `{"x":"\\"","n":\n${number}}`])
      expect(isFromFloat((parseExact(read) as { n: unknown }).n), read).toBe(isFloat);
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
