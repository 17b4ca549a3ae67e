import { env } from "cloudflare:workers";
import { describe, expect, test } from "vitest";
import { invalid } from "../../src/http/validation.ts";
import { newPets } from "../../src/pets/create-pets.ts";
import { eventsOf, known } from "../events/feed.ts";
import { call, expectError, expectJson } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { EXACT, expectExact } from "./exact.ts";

const REX = { name: "Rex", categoryId: 1 };
const create = (body: object | BodyInit, headers: Record<string, string> = {}, bindings: Partial<Env> = {}) =>
  call("/v1/pets/batch", { method: "POST", key, body, headers, bindings });
const countPets = async () => (await env.DB.prepare("SELECT count(*) AS n FROM pets").first<number>("n")) ?? 0;
const animals = (count: number) => Array.from({ length: count }, (_, i) => ({ name: `Animal ${i}`, categoryId: i }));

interface Animal {
  id: number;
  name: string;
}

// Promise: batches-are-whole, events-of-a-batch, ids-ascend
test.each([1, 2, 100])("adds %i animals, in order, with ascending ids and an event each", async (count) => {
  for (const headers of [{}, { "Idempotency-Key": crypto.randomUUID() }]) {
    const before = await countPets();
    const { response, events } = await eventsOf(key, () => create(animals(count), headers));
    const created = (await expectJson(response, 201)) as Animal[];
    expect(created).toEqual(
      animals(count).map((animal, i) => ({ ...animal, id: (created[0]?.id ?? 0) + i, status: "available" })),
    );
    expect(events.map(known)).toEqual(created.map((animal) => ["pet.created", 1, animal]));
    expect(await countPets()).toBe(before + count);
    for (const name of ["Location", "ETag", "Idempotency-Replayed"]) expect(response.headers.get(name)).toBeNull();
    for (const animal of [created[0], created.at(-1)]) {
      const found = await call(`/v1/pets/${animal?.id}`, { key });
      expect([await found.json(), found.headers.get("ETag")]).toEqual([animal, '"1"']);
    }
  }
});

test("every animal is exact, to the last digit and byte", async () => {
  for (const headers of [{}, { "Idempotency-Key": crypto.randomUUID() }]) {
    const text = await (await create(`[${EXACT.map(({ sent }) => `{${sent}}`).join()}]`, headers)).text();
    const [first = ""] = expectExact(text, () => '"status":"available"}');
    expect(await (await call(`/v1/pets/${(JSON.parse(first) as Animal).id}`, { key })).text()).toBe(first);
  }
});

test("each animal takes the fields of a creation, and ignores others", async () => {
  const created = await expectJson(
    await create(
      '[{"name":"Rex","categoryId":1,"status":"sold","id":5,"__proto__":{"status":"sold"}},{"name":"Max","categoryId":2}]',
    ),
    201,
  );
  expect(created).toMatchObject([{ status: "sold" }, { status: "available" }]);
  expect(created).not.toMatchObject([{ id: 5 }]);
});

// Promise: batches-are-whole, messages-are-bounded
describe("is refused as a whole", () => {
  const RULE = "The request body has to be a JSON array of 1 to 100 animals.";
  const name = "a string of 1 to 255 well-formed characters, not only white space";
  const id = "an integer from -2^63 to 2^63 - 1";
  test.each<[string, object | string, string]>([
    ["an object", REX, RULE],
    ["null", "null", RULE],
    ["a long number", "12345678901234567890", RULE],
    ["no animal", [], RULE],
    ["101 animals", animals(101), RULE],
    ["20,000 animals", `[${Array(20_000).fill("{}").join()}]`, RULE],
    ["an animal that is no object", [REX, 5], "1: the item has to be a JSON object."],
    ["an animal that is an array", [[REX]], "0: the item has to be a JSON object."],
    ["a number that the service marks", "[[1.00000000000000001]]", "0: the item has to be a JSON object."],
    ["a bad name", [REX, REX, REX, { ...REX, name: "" }], `3: name has to be ${name}.`],
    ["a missing name", [{ categoryId: 1 }], `0: name is required: ${name}.`],
    ["a lone surrogate", '[{"name":"\\ud800","categoryId":1}]', `0: name has to be ${name}.`],
    ["a bad id", '[{"name":"Rex","categoryId":9223372036854775808}]', `0: categoryId has to be ${id}.`],
    ["a bad status", [{ ...REX, status: "gone" }], "0: status has to be one of available, pending, sold."],
    [
      "several faults",
      [{ ...REX, name: 5 }, REX, { name: "Max", categoryId: "1" }],
      `0: name has to be ${name}; 2: categoryId has to be ${id}.`,
    ],
    [
      "places that break one rule",
      [
        { ...REX, name: "", status: "gone" },
        REX,
        { categoryId: 1, status: "gone" },
        { ...REX, name: 5 },
        { ...REX, status: null },
      ],
      `0, 3: name has to be ${name}; 0, 2, 4: status has to be one of available, pending, sold; 2: name is required: ${name}.`,
    ],
    ["no JSON", "[{]", "The request body is not well-formed JSON in UTF-8."],
  ])("%s", async (_, body, message) => {
    const before = await countPets();
    const { DB, statements } = observedDatabase();
    expect(await expectError(await create(body, {}, { DB }), "invalid_request")).toBe(message);
    expect(statements).toEqual([]);
    expect(await countPets()).toBe(before);
  });

  // Promise: messages-are-bounded
  test("with a message that names every invalid field of every animal", () => {
    const items = Array.from({ length: 100 }, (_, i) =>
      i % 2 ? { status: 5 } : { name: 5, categoryId: 5.5, status: 5 },
    );
    const issues = newPets().safeParse(items).error?.issues ?? [];
    const { message } = invalid(issues);
    const named = message.split("; ").flatMap((entry) => {
      const [, places = "", field] = /^([\d, ]+): (\w+) /.exec(entry) ?? [];
      return places.split(", ").map((place) => `${place}.${field}`);
    });
    expect(new Set(named)).toEqual(new Set(issues.map(({ path }) => path.join("."))));
    expect(named).toHaveLength(300);
    // The document allows 2,000 characters.
    expect(message.length).toBeGreaterThan(1_500);
    expect(message.length).toBeLessThanOrEqual(2_000);
  });
});

// Promise: batches-are-whole
test("batches that race have ids of their own, each in a row", async () => {
  const answers = await Promise.all(
    Array.from({ length: 10 }, async (_, i) =>
      (await create(animals(20), i % 2 ? { "Idempotency-Key": `race-${i}` } : {})).json<Animal[]>(),
    ),
  );
  for (const created of answers) {
    expect(created.map(({ id }) => id)).toEqual(created.map((_, i) => (created[0]?.id ?? 0) + i));
  }
  expect(new Set(answers.flat().map(({ id }) => id)).size).toBe(200);
});
