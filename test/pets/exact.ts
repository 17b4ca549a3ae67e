import { expect } from "vitest";

const NAMES = [
  "a\0b",
  "\0",
  "🐕".repeat(255),
  '\u2028\u2029"\\/',
  "  x  ",
  "e\u0301",
  "[1,2]",
  "null",
  "12",
  "ü\u{10ffff}",
];
const CATEGORIES = [
  "9223372036854775807",
  "-9223372036854775808",
  "9007199254740993",
  "0",
  ["-0", "0"],
  ["1.0", "1"],
  ["1e3", "1000"],
];

/** Names and categories that a parser or a database could change. `sent` is in JSON, and `exact` is how it comes back. */
export const EXACT = NAMES.flatMap((name) =>
  CATEGORIES.map((category) => {
    const [sent, exact = sent] = [category].flat();
    return { name, sent: `"name":${JSON.stringify(name)},"categoryId":${sent}`, exact: `"categoryId":${exact},` };
  }),
);

/** Asserts that the response to a batch has them, each with this text after it. Returns its items. */
export function expectExact(batch: string, endOf: (place: number) => string): string[] {
  const items = batch.slice(1, -1).split(/(?<=\}),(?=\{)/);
  expect(items).toHaveLength(EXACT.length);
  for (const [place, { name, exact }] of EXACT.entries()) {
    expect(JSON.parse(items[place] ?? "")).toMatchObject({ name });
    expect(items[place]?.endsWith(exact + endOf(place)), items[place]).toBe(true);
  }
  return items;
}
