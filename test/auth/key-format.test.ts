import fc from "fast-check";
import { expect, test } from "vitest";
import { generateKey, isWellFormedKey } from "../../src/auth/key-format.ts";

const ENVIRONMENTS = ["local", "staging", "production"] as const;

test("a generated key is valid in its environment and in no other", () => {
  for (const environment of ENVIRONMENTS) {
    for (let i = 0; i < 100; i++) {
      const key = generateKey(environment);
      expect(key).toMatch(new RegExp(`^petstore_${environment}_[0-9A-Za-z]{36}$`));
      for (const other of ENVIRONMENTS) expect(isWellFormedKey(key, other)).toBe(other === environment);
    }
  }
});

test("a key of an earlier release stays valid", () => {
  expect(isWellFormedKey("petstore_local_LocalDevelopmentOnlyNotASecret49Y71h", "local")).toBe(true);
});

test("one mistyped, missing, added or swapped character makes a key invalid", () => {
  const letter = fc.constantFrom(..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_ -");
  fc.assert(
    fc.property(fc.nat({ max: 50 }), letter, (position, wrong) => {
      const key = generateKey("local");
      const index = position % key.length;
      const [before, here, after] = [key.slice(0, index), key[index], key.slice(index + 1)];
      if (wrong !== here) expect(isWellFormedKey(before + wrong + after, "local")).toBe(false);
      expect(isWellFormedKey(before + after, "local")).toBe(false);
      expect(isWellFormedKey(before + wrong + here + after, "local")).toBe(false);
      if (here !== after[0] && after !== "") {
        expect(isWellFormedKey(before + after[0] + here + after.slice(1), "local")).toBe(false);
      }
    }),
  );
});

test("the random part uses all 62 characters evenly", () => {
  const counts = new Map<string, number>();
  const keys = 4_000;
  for (let i = 0; i < keys; i++) {
    for (const letter of generateKey("local").slice("petstore_local_".length, -6)) {
      counts.set(letter, (counts.get(letter) ?? 0) + 1);
    }
  }
  expect(counts.size).toBe(62);
  const expected = (keys * 30) / 62;
  // Chi-squared with 61 degrees of freedom exceeds 140 once in ten million runs; a bias of modulo 62 would give over 800.
  const chiSquared = [...counts.values()].reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  expect(chiSquared).toBeLessThan(140);
});

test("other texts are not keys", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 60 }), fc.stringMatching(/^[0-9A-Za-z]{36}$/)), (text) => {
      expect(isWellFormedKey(text, "local")).toBe(false);
      expect(isWellFormedKey(`petstore_local_${text}`, "local")).toBe(false);
    }),
  );
});
