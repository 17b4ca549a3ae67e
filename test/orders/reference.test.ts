import { beforeAll, describe, expect, test, vi } from "vitest";
import { eventsOf, known } from "../events/feed.ts";
import { expectError, expectJson, idOf, nextPage } from "../support/client.ts";
import { Client } from "./store.ts";

const RULE = "reference has to be a string of 1 to 255 well-formed characters, not only white space.";
const CUSTOMER_RULE = "customer has to be a string of 1 to 255 visible ASCII characters.";
const LIST = "/v1/store/orders";

interface Order {
  id: number;
  status: string;
  shipDate: string | null;
  reference?: string;
  customer?: string;
}

let client: Client;
beforeAll(async () => {
  client = await Client.create();
  vi.spyOn(scheduler, "wait").mockResolvedValue();
  return () => vi.restoreAllMocks();
});

const orderAt = async (path: string) => (await client.get(path)).json<Order>();
const tag = async (path: string) => (await client.get(path)).headers.get("ETag");
const found = async (query: string) =>
  ((await expectJson(await client.get(`${LIST}?${query}`), 200)) as Order[]).map(({ id }) => id);

async function orderThatIs(state: string, value?: string, field: "reference" | "customer" = "reference") {
  const petId = await client.addAnimal();
  const path = (await client.place({ petId, [field]: value })).headers.get("Location") ?? "";
  if (state === "shipped") await client.ship(path);
  if (state === "cancelled") await client.delete(path);
  return { path, petId };
}

const unique = () => crypto.randomUUID();

/** What the shop calls an order, and whom it is for: texts that come back byte for byte, and JSON that is refused. */
const LABELS = [
  {
    field: "reference" as const,
    rule: RULE,
    texts: [
      "x",
      "x".repeat(255),
      "🐕".repeat(255),
      "\u0301".repeat(255),
      "👩‍👩‍👧‍👦".repeat(36),
      "\u00e9 composed",
      "e\u0301 composed",
      " \t padded\u00a0\n",
      "\u0000a\u0000\u001f\u007f\u0085",
      `"'\\"--;%_*?`,
      "a+b c&d=e#f/%41%",
      "\u200b",
      "\ufffd\uffff\u{10ffff}",
      "null",
    ],
    never: [
      ...'5|true|["x"]|{}|""|" "'.split("|"),
      JSON.stringify("\t\n\u00a0\u3000\u2028\ufeff\u0085"),
      ...["x", "🐕", "\u0301"].map((character) => JSON.stringify(character.repeat(256))),
      // Lone surrogates.
      ...String.raw`"\ud83d"|"a\udc15b"|"\udc15\ud83d"`.split("|"),
    ],
  },
  {
    field: "customer" as const,
    rule: CUSTOMER_RULE,
    texts: ["!", "~".repeat(255), `"'\\<>%_*;--`, "null", "c_8f2Kq0"],
    never: [...String.raw`5|{}|["a"]|""|" "|"a b"|"a\n"|"é"|"а"|"\u007f"`.split("|"), JSON.stringify("x".repeat(256))],
  },
];

describe.each(LABELS)("the $field of an order", ({ field, rule, texts, never }) => {
  const search = (text: string) => found(`${field}=${encodeURIComponent(text)}`);

  // Promise: customers-are-visible-ascii, references-are-exact
  test.each(texts)("%j is returned byte for byte, and found", async (text) => {
    const petId = await client.addAnimal();
    const { response: placed, events: placing } = await eventsOf(client.key, () =>
      client.place({ petId, [field]: text }),
    );
    const order = (await expectJson(placed, 201)) as Order;
    expect(Object.entries(order).at(-1)).toEqual([field, text]);
    expect(known(placing[0] ?? expect.unreachable())).toEqual(["order.placed", 1, order]);
    const path = placed.headers.get("Location") ?? "";
    expect(await orderAt(path)).toEqual(order);
    expect(await search(text)).toEqual([order.id]);

    const { path: other } = await client.placeNew();
    const { response, events } = await eventsOf(client.key, () => client.patch(other, { [field]: text }));
    const changed = (await expectJson(response, 200)) as Order;
    expect(changed).toEqual({ ...(await orderAt(other)), [field]: text });
    expect(events.map(known)).toEqual([["order.updated", 2, changed]]);
    expect(await search(text)).toEqual([order.id, changed.id]);
    for (const one of [path, other]) await client.patch(one, { [field]: null });
    expect(await search(text)).toEqual([]);
  });

  // Promise: customers-are-visible-ascii, references-are-exact
  test.each([...never, "null"])("neither a new order nor a patch can have %s", async (json) => {
    const petId = await client.addAnimal();
    const { path } = await orderThatIs("placed", "before", field);
    const patches = json === "null" ? [] : [`{"${field}": ${json}}`, `{"${field}": ${json}, "status": "shipped"}`];
    for (const response of [
      await client.place(`{"petId": ${petId}, "${field}": ${json}}`),
      ...(await Promise.all(patches.map((body) => client.patch(path, body)))),
    ])
      expect(await expectError(response, "invalid_request")).toBe(rule);
    expect(await client.animal(petId)).toEqual(["available", '"1"']);
    expect(await orderAt(path)).toMatchObject({ status: "placed", [field]: "before" });
  });

  // Promise: references-can-change
  test("is not shown when there is none", async () => {
    const { path } = await client.placeNew();
    expect(Object.keys(await orderAt(path))).not.toContain(field);
    expect(Object.keys(await (await client.ship(path)).json<object>())).not.toContain(field);
  });

  // Promise: customers-are-found, references-are-found
  test("finds the orders of every state, and combines with the other parameters", async () => {
    const text = field === "customer" ? unique() : `Cart é ${unique()}`;
    const ids: { [state: string]: number } = {};
    for (const state of ["placed", "shipped", "cancelled"])
      ids[state] = idOf((await orderThatIs(state, text, field)).path);
    const query = `${field}=${encodeURIComponent(text)}`;
    const all = Object.values(ids);
    expect(await found(query)).toEqual(all);
    expect(await found(`${query}&sort=-id`)).toEqual(all.toReversed());
    for (const [state, id] of Object.entries(ids)) expect(await found(`${query}&status=${state}`)).toEqual([id]);
    const versioned = await client.get(`${LIST}?include=version&status=shipped&${query}`);
    const shipped = expect.objectContaining({ id: ids["shipped"], [field]: text, version: 2 }) as unknown;
    expect(await expectJson(versioned, 200)).toEqual([shipped]);
    expect(nextPage(await client.get(`${LIST}?${query}&limit=1`))).toContain(query);
    for (const other of [text.toUpperCase(), text.slice(0, -1), `${text}!`]) expect(await search(other)).toEqual([]);
  });
});

test("the reference and the customer change together, with a shipment too", async () => {
  const { path } = await orderThatIs("placed", "ada", "customer");
  for (const [patch, expected] of [
    [
      { customer: "bo", reference: "cart" },
      { status: "placed", customer: "bo", reference: "cart" },
    ],
    [
      { status: "shipped", customer: null, reference: "c2" },
      { status: "shipped", reference: "c2" },
    ],
    [
      { status: "shipped", customer: "cy" },
      { customer: "cy", reference: "c2" },
    ],
  ])
    expect(await expectJson(await client.patch(path, patch ?? {}), 200)).toMatchObject(expected ?? {});
});

// The statements of both ways set both fields alike.
describe.each([
  { field: "reference", how: "without an Idempotency-Key", header: () => ({}) },
  { field: "customer", how: "under an Idempotency-Key", header: () => ({ "Idempotency-Key": unique() }) },
] as const)("the $field $how", ({ field, header }) => {
  const orderOf = (state: string, value?: string) => orderThatIs(state, value, field);
  const patch = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const { response, events } = await eventsOf(client.key, () =>
      client.patch(path, body, { ...header(), ...headers }),
    );
    return { response, events: events.map(({ type, version }) => `${type} ${version}`) };
  };

  // Promise: references-can-change, references-change-alone, two-events-of-an-order
  test.each([
    ["placed", "pending", 2],
    ["shipped", "sold", 3],
    ["cancelled", "available", 3],
  ])("it alone changes when the order is %s, and the animal stays", async (state, status, version) => {
    const { path, petId } = await orderOf(state);
    const before = await orderAt(path);
    const first = Number((await tag(path))?.slice(1, -1));
    for (const [index, reference] of ["a", "b", null].entries()) {
      const { response, events } = await patch(path, { [field]: reference });
      const { [field]: shown, ...rest } = (await expectJson(response, 200)) as Order;
      expect([shown ?? null, rest]).toEqual([reference, before]);
      expect([events, response.headers.get("ETag")]).toEqual([
        [`order.updated ${first + index + 1}`],
        `"${first + index + 1}"`,
      ]);
      const again = await patch(path, { [field]: reference });
      expect([again.response.status, again.events, again.response.headers.get("ETag")]).toEqual([
        200,
        [],
        `"${first + index + 1}"`,
      ]);
    }
    expect(await client.animal(petId)).toEqual([status, `"${version}"`]);
  });

  // Promise: references-can-change
  test.each([
    ["a new one", undefined, "a"],
    ["another one", "before", "a"],
    ["the same", "a", "a"],
    ["none", "before", null],
    ["still none", undefined, null],
  ])("a shipment with %s is one change of the order", async (_what, before, reference) => {
    const { path, petId } = await orderOf("placed", before);
    const { response, events } = await patch(path, { status: "shipped", [field]: reference }, { "If-Match": '"1"' });
    const shipped = (await expectJson(response, 200)) as Order;
    expect([shipped.status, shipped[field] ?? null, response.headers.get("ETag")]).toEqual([
      "shipped",
      reference,
      '"2"',
    ]);
    expect(events).toEqual(["order.shipped 2", "pet.updated 3"]);
    expect(await orderAt(path)).toEqual(shipped);
    expect(await client.animal(petId)).toEqual(["sold", '"3"']);
  });

  test("a shipment without one keeps it, and so does a cancellation", async () => {
    const { path } = await orderOf("placed", "kept");
    expect(await expectJson((await patch(path, { status: "shipped" })).response, 200)).toMatchObject({
      [field]: "kept",
    });
    const { path: other } = await orderOf("cancelled", "kept");
    expect(await orderAt(other)).toMatchObject({ status: "cancelled", [field]: "kept" });
  });

  // Promise: references-change-alone
  test("an order that is shipped already changes only its reference", async () => {
    const { path, petId } = await orderOf("shipped", "before");
    const before = await orderAt(path);
    const again = { status: "shipped", shipDate: "2000-01-01T00:00:00Z" };
    const { response, events } = await patch(path, { ...again, [field]: "a" }, { "If-Match": '"2"' });
    expect(await expectJson(response, 200)).toEqual({ ...before, [field]: "a" });
    expect([events, response.headers.get("ETag")]).toEqual([["order.updated 3"], '"3"']);
    const same = await patch(path, { ...again, [field]: "a" }, { "If-Match": '"3"' });
    expect([same.response.status, same.events]).toEqual([200, []]);
    const { response: none, events: removal } = await patch(path, { ...again, [field]: null });
    expect(Object.keys(await none.json<object>())).not.toContain(field);
    expect(removal).toEqual(["order.updated 4"]);
    expect(await client.animal(petId)).toEqual(["sold", '"3"']);
  });

  // Promise: references-of-cancelled-orders
  test("a cancelled order is not shipped, and its reference does not change", async () => {
    const { path, petId } = await orderOf("cancelled", "before");
    for (const reference of ["a", "before", null]) {
      const { response, events } = await patch(path, { status: "shipped", [field]: reference });
      await expectError(response, "order_cancelled");
      expect(events).toEqual([]);
    }
    expect([(await orderAt(path))[field], await tag(path)]).toEqual(["before", '"2"']);
    expect(await client.animal(petId)).toEqual(["available", '"3"']);
  });

  test.each(["placed", "shipped", "cancelled"])("another version is refused when the order is %s", async (state) => {
    const { path } = await orderOf(state, "before");
    const version = (await tag(path)) ?? "";
    for (const headers of [{ "If-Match": '"9"' }, { "If-None-Match": version }, { "If-None-Match": "*" }]) {
      for (const body of [{ [field]: "a" }, { [field]: "before" }, { status: "shipped", [field]: "a" }]) {
        const { response, events } = await patch(path, body, headers);
        const isConflict = state === "cancelled" && "status" in body;
        await expectError(response, isConflict ? "order_cancelled" : "precondition_failed");
        expect(events).toEqual([]);
      }
    }
    expect([(await orderAt(path))[field], await tag(path)]).toEqual(["before", version]);
  });
});

// Promise: retries-of-the-service
test("a cancellation is repeated with the version that it had, also after another change of the reference", async () => {
  const { path } = await orderThatIs("placed");
  expect((await client.delete(path, { "If-Match": '"1"' })).status).toBe(204);
  await client.patch(path, { reference: "a" });
  for (const version of ['"1"', '"2"', '"3"', "*"]) {
    expect((await client.delete(path, { "If-Match": version })).status).toBe(204);
  }
  await expectError(await client.delete(path, { "If-Match": '"4"' }), "precondition_failed");
  const { path: other } = await orderThatIs("placed");
  await client.patch(other, { reference: "a" });
  await expectError(await client.delete(other, { "If-Match": '"1"' }), "precondition_failed");
  expect(await orderAt(other)).toMatchObject({ status: "placed", reference: "a" });
});

describe("the filter", () => {
  // Promise: references-are-exact
  test("by reference is exact, however it is encoded", async () => {
    const reference = `Cart é ${unique()}`;
    await orderThatIs("placed", reference);
    for (const other of [
      reference.normalize("NFD"),
      ` ${reference}`,
      `${reference} `,
      `${reference}\0`,
      "Cart%",
      "%",
      "*",
    ])
      expect(await found(`reference=${encodeURIComponent(other)}`), other).toEqual([]);
    const spaced = encodeURIComponent(reference).replaceAll("%20", "+");
    expect(await found(`reference=${spaced}`)).toHaveLength(1);
    expect(await found(`reference=${spaced.replaceAll("+", "%2B")}`)).toEqual([]);
    // Every byte may be encoded.
    const bytes = Array.from(new TextEncoder().encode(reference), (byte) => `%${byte.toString(16).padStart(2, "0")}`);
    expect(await found(`%72eference=${bytes.join("")}`)).toHaveLength(1);
  });

  const UTF8 = "The query has to be UTF-8, percent-encoded.";
  // Promise: references-are-found
  test.each([
    ["reference=", RULE],
    ["reference", RULE],
    ["reference=+%20%09", RULE],
    ["reference=%C2%85", RULE],
    [`reference=${"x".repeat(256)}`, RULE],
    [`reference=${"%F0%9F%90%95".repeat(256)}`, RULE],
    ["reference=a&petId=1", "reference cannot be beside petId."],
    ["petId=1&status=placed&reference=a", "reference cannot be beside petId."],
    ["customer=", CUSTOMER_RULE],
    ["customer=a%20b", CUSTOMER_RULE],
    ["customer=%C3%A9", CUSTOMER_RULE],
    ["customer=a&customer=b", "customer has to be sent once: a string of 1 to 255 visible ASCII characters."],
    ["customer=a&petId=1", "customer cannot be beside petId or reference."],
    ["customer=a&reference=b", "customer cannot be beside petId or reference."],
    ["customer=a&reference=b&status=placed", "customer cannot be beside petId or reference."],
    ["reference[]=a", /^reference\[\] has to be reference, without brackets/],
    // Lone surrogates, a byte of no character, an overlong form and broken escapes.
    ["reference=%ED%A0%80", UTF8],
    ["reference=a%ED%B0%80b", UTF8],
    ["reference=%FF", UTF8],
    ["reference=%C0%AF", UTF8],
    ["reference=%F5%80%80%80", UTF8],
    ["reference=100%", UTF8],
    ["reference=%u0041", UTF8],
    ["reference=%4", UTF8],
    // The other parameters.
    ["status=gone", "status has to be one of placed, shipped, cancelled."],
    ["petId=x", "petId has to be an integer from -2^63 to 2^63 - 1, in decimal digits."],
    ["petId=01", /^petId /],
    ["petId=9223372036854775808", /^petId /],
    ["cursor=x", /^cursor /],
  ])("%s is refused", async (query, message) => {
    const actual = await expectError(await client.get(`${LIST}?${query}`), "invalid_request");
    if (typeof message === "string") expect(actual).toBe(message);
    else expect(actual).toMatch(message);
  });
});
