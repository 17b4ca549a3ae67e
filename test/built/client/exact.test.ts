import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { toDigits } from "../../../client/src/int64.ts";
import { parseExact, stringifyExact } from "../../../client/src/json.ts";
import { ANIMAL, fakeService, json } from "./fake-service.ts";

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const int64 = fc.bigInt({ min: MIN, max: MAX });
/** Any characters. Those of fast-check take a second to start. */
const anyText = fc.array(fc.integer({ min: 0, max: 0x10ffff })).map((codes) => String.fromCodePoint(...codes));

describe("parsing", () => {
  test("every int64 is exact in any surrounding text", () => {
    fc.assert(
      fc.property(int64, int64, anyText, fc.constantFrom("", " ", "\n\t "), (a, b, name, space) => {
        const text = `[{"id"${space}:${space}${a}${space},"name":${JSON.stringify(name)},"petId":${b}}]`;
        expect(parseExact(text), text).toEqual([{ id: a, name, petId: b }]);
      }),
    );
  });

  test("a string that looks like a field stays a string", () => {
    const names = ['"id":1', '\\"id":12', 'a","id":9007199254740993,"b":"', "\\", '"', '{"id":1}', '"categoryId" : -5'];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...names, ",", " ")), (parts) => {
        const name = parts.join("");
        expect(parseExact(JSON.stringify({ name, id: 1 }))).toEqual({ name, id: 1n });
      }),
    );
  });

  test("a name that ends like a 64-bit field is another name", () => {
    expect(parseExact('{"my\\"id":1,"\\\\\\"petId":2,"id":3}')).toEqual({ 'my"id': 1, '\\"petId': 2, id: 3n });
  });

  test("other numbers stay numbers", () => {
    expect(parseExact('{"status":404,"quantity":1,"x":1.5e3}')).toEqual({ status: 404, quantity: 1, x: 1500 });
  });

  test.each(['{"id":1', '{"id":01}', '{"id":1}}', ""])("%s is no JSON", (text) => {
    expect(() => parseExact(text)).toThrow(SyntaxError);
  });

  test.each([
    "1.5",
    "1e3",
    "9007199254740993.0",
    "9223372036854775808",
    "-9223372036854775809",
    "92233720368547758070",
    '"5"',
    "null",
    "[]",
    "[5]",
    '["5"]',
    '[0.5,"5"]',
    "{}",
    "true",
  ])("%s in a 64-bit field does not become a bigint", (value) => {
    expect(parseExact(`{"id":${value}}`)).toEqual({ id: JSON.parse(value) });
  });

  test("takes linear time, even if the text ends inside a string", () => {
    for (const hostile of ['"' + '\\"'.repeat(500_000), '{"id"' + " ".repeat(1_000_000), '{"id":'.repeat(200_000)]) {
      const start = performance.now();
      expect(() => parseExact(hostile)).toThrow(Error);
      // Quadratic time would take hours.
      expect(performance.now() - start).toBeLessThan(5_000);
    }
  });
});

test("an integer that is written to a field is read exactly", () => {
  fc.assert(
    fc.property(int64, anyText, (integer, name) => {
      const text = stringifyExact({ name, status: undefined, categoryId: integer });
      expect(text).toBe(`{"name":${JSON.stringify(name)},"categoryId":${integer}}`);
      expect(stringifyExact({ categoryId: String(integer) })).toBe(`{"categoryId":${integer}}`);
    }),
  );
});

// Promise: arguments-are-exact, ids-as-texts
test("an exact number is accepted, and so is a string of digits", () => {
  expect([toDigits(7), toDigits(-7n), toDigits("007"), toDigits(String(MIN))]).toEqual(["7", "-7", "7", String(MIN)]);
  expect(toDigits(Number.MAX_SAFE_INTEGER)).toBe("9007199254740991");
});

// Promise: arguments-are-exact
test.each([
  2 ** 53,
  -(2 ** 53),
  1.5,
  Number.NaN,
  Infinity,
  MAX + 1n,
  MIN - 1n,
  "1e3",
  " 1",
  "",
  "9".repeat(20),
  null,
  true,
])("%s is refused", (value) => {
  expect(() => toDigits(value)).toThrow(RangeError);
});

// Promise: arguments-are-exact
test("an inexact integer is refused before anything is sent, in the path, the query and the body", async () => {
  const { store, sent } = fakeService([json(200, ANIMAL)]);
  const id = 2 ** 53;
  const refused = [
    () => store.pets.create({ name: "Rex", categoryId: id }),
    () => store.pets.update(id, {}),
    () => store.pets.delete(id),
    () => store.orders.cancel(id),
    () => store.orders.place({ petId: id }),
    () => store.pets.list({ categoryId: id }).page(),
    () => store.pets.list({ id: [1, id] }).page(),
  ];
  for (const request of refused) await expect(request()).rejects.toThrow(RangeError);
  expect(sent).toEqual([]);
});

// Promise: results-are-bigint
test("ids are exact in the path, the query, the body and the result", async () => {
  const { store, sent } = fakeService([json(200, ANIMAL, { ETag: '"3"' }), json(200, `[${ANIMAL}]`)]);
  const id = 2n ** 63n - 1n;
  const { animal, etag } = await store.pets.update(id, { categoryId: "-9223372036854775808" }, { ifMatch: '"2"' });
  expect(animal).toEqual({ id, name: "Rex", categoryId: -(2n ** 63n), status: "available" });
  expect(etag).toBe('"3"');
  await store.pets.list({ id: [id, 5, "6"], categoryId: id, limit: 2 }).page();
  expect(sent.map(({ method, path, body }) => [method, path, body])).toEqual([
    ["PATCH", `/pets/${id}`, '{"categoryId":-9223372036854775808}'],
    ["GET", `/pets?id=${id}&id=5&id=6&categoryId=${id}&limit=2`, undefined],
  ]);
});
