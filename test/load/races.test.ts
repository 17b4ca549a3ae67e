import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  byTime,
  type Change,
  type Client,
  get,
  newClient,
  patch,
  post,
  remove,
  type Resource,
  tally,
} from "./changes.ts";
import { AT_ONCE, create, many, PAIRS, race, sendAll } from "./racing.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// The final state and the responses of concurrent changes have to match the order in which the database ran them. The bookmarks
// of the responses reveal that order.

const CLAIMANTS = 16;

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

const createPet = (send: Client, categoryId = 1) => create(send, "/v1/pets", { name: "Rex", categoryId });
const createCategory = (send: Client, name: string) => create(send, "/v1/categories", { name });

/** All categories with this name. */
async function categoriesNamed(send: Client, name: string): Promise<Resource[]> {
  const { body } = await send(get("/v1/categories?limit=100"));
  return (body as Resource[]).filter((category) => category.name === name);
}

test("of 20 changes of one version, the first takes effect", async () => {
  const send = await newClient(service);
  const pet = await createPet(send);
  const answers = await sendAll(
    send,
    many(AT_ONCE, (index) => patch(pet, { name: `Rex ${index}` }, 1)),
  );
  expect(tally(answers)).toEqual({ 200: 1, "412 precondition_failed": AT_ONCE - 1 });
  const [first] = answers.toSorted(byTime);
  expect(first).toMatchObject({ status: 200, version: 2 });
  expect(await send(get(pet))).toMatchObject({ status: 200, version: 2, body: first?.body });
});

test("a thousand claims of a hundred animals have a hundred winners", async () => {
  const clients = await Promise.all(many(CLAIMANTS, () => newClient(service)));
  const send = await newClient(service);
  const pets: string[] = [];
  for (let i = 0; i < 100; i++) pets.push(await createPet(send));
  // Claims of one animal are adjacent, so that they race.
  const claims = pets.flatMap((pet) => many(10, () => pet));
  const winners: string[] = [];
  const statuses = new Set<number>();
  await Promise.all(
    clients.map(async (client) => {
      for (let pet = claims.pop(); pet !== undefined; pet = claims.pop()) {
        const { status } = await client(patch(pet, { status: "pending" }, 1));
        statuses.add(status);
        if (status === 200) winners.push(pet);
      }
    }),
  );
  expect(winners.toSorted()).toEqual(pets.toSorted());
  expect(statuses).toEqual(new Set([200, 412]));
});

test("a counter that eight clients increment twelve times ends at 96", async () => {
  const clients = await Promise.all(many(8, () => newClient(service)));
  const send = await newClient(service);
  const pet = await create(send, "/v1/pets", { name: "0", categoryId: 1 });
  await Promise.all(clients.map((client) => increment(client, pet, 12)));
  expect(await send(get(pet))).toMatchObject({ version: 97, body: { name: "96" } });
});

/** Increments the number in the animal's name so many times: reads it, and writes it if its version is unchanged. */
async function increment(send: Client, pet: string, times: number): Promise<void> {
  for (let left = times; left > 0;) {
    const { version, body } = await send(get(pet));
    const { status } = await send(patch(pet, { name: String(Number((body as Resource).name) + 1) }, version));
    if (status === 200) left--;
    else expect(status).toBe(412);
  }
}

test("20 changes of any version take effect one after another, each with its own version", async () => {
  const send = await newClient(service);
  const pet = await createPet(send);
  const changes = many(AT_ONCE, (index) => patch(pet, { name: `Rex ${index}` }));
  await expectOneAfterTheOther(send, pet, changes, AT_ONCE);
});

test("changes of different fields are all kept, and those that change nothing keep the version", async () => {
  const send = await newClient(service);
  const pet = await createPet(send);
  const changes = many(AT_ONCE, (index) =>
    patch(pet, index % 2 === 0 ? { name: `Rex ${index % 4}` } : { status: index % 4 === 1 ? "sold" : "pending" }),
  );
  await expectOneAfterTheOther(send, pet, changes);
});

/** Sends changes of an animal at once, and asserts that each response has the state after its own change and all earlier ones. */
async function expectOneAfterTheOther(send: Client, pet: string, changes: Change[], effective?: number): Promise<void> {
  let { version = 0, body } = await send(get(pet));
  const before = version;
  const answers = await sendAll(send, changes);
  const exchanges = answers.map((answer, index) => ({ answer, asked: changes[index]?.body }));
  for (const { answer, asked } of exchanges.toSorted((a, b) => byTime(a.answer, b.answer))) {
    const changed = { ...(body as Resource), ...asked };
    if (!isDeepStrictEqual(changed, body)) version++;
    body = changed;
    expect(answer).toMatchObject({ status: 200, version, body });
  }
  expect(await send(get(pet))).toMatchObject({ status: 200, version, body });
  if (effective !== undefined) expect(version - before).toBe(effective);
}

test.each([
  ["each with its own key", (index: number) => ({ "Idempotency-Key": `category-${index}` })],
  ["without a key", () => ({})],
])("of 20 creations of one category, %s, one takes place", async (name, headers) => {
  const send = await newClient(service);
  const answers = await sendAll(
    send,
    many(AT_ONCE, (index) => post("/v1/categories", { name, description: `${index}` }, headers(index))),
  );
  expect(tally(answers)).toEqual({ 201: 1, "409 category_exists": AT_ONCE - 1 });
  expect(await categoriesNamed(send, name)).toEqual([answers.find(({ status }) => status === 201)?.body]);
});

test("of 20 categories with the same name, one is created", async () => {
  const send = await newClient(service);
  const addresses = await Promise.all(many(AT_ONCE, (index) => createCategory(send, `Renamed ${index}`)));
  const answers = await sendAll(
    send,
    addresses.map((address) => patch(address, { name: "Renamed" })),
  );
  expect(tally(answers)).toEqual({ 200: 1, "409 category_exists": AT_ONCE - 1 });
  expect(await categoriesNamed(send, "Renamed")).toEqual([answers.find(({ status }) => status === 200)?.body]);
  await sendAll(
    send,
    addresses.map((address) => remove(address)),
  );
});

/** Animals of a category, which no other test uses. */
const animals = (count: number, categoryId: number) => many(count, (index) => ({ name: `Rex ${index}`, categoryId }));

/** Whether the ids of a batch ascend without a gap. */
const isInRow = (batch: Resource[]) => batch.every(({ id }, index) => id === (batch[0]?.id ?? 0) + index);

test("of 20 equal batches under one key, one creates its animals, and all get them", async () => {
  const send = await newClient(service);
  const batch = animals(40, 2_001);
  const answers = await sendAll(
    send,
    many(AT_ONCE, () => post("/v1/pets/batch", batch, { "Idempotency-Key": "batch" })),
  );
  expect(tally(answers)).toEqual({ 201: AT_ONCE });
  const { body } = await send(get("/v1/pets?categoryId=2001&limit=100"));
  expect(body).toMatchObject(batch);
  expect(isInRow(body as Resource[])).toBe(true);
  for (const answer of answers) expect(answer.body).toEqual(body);
});

test("batches that race with single creations have ids in a row, and none is used twice", async () => {
  const send = await newClient(service);
  const changes = many(AT_ONCE, (index) => [
    post("/v1/pets/batch", animals(25, 2_002), index % 2 === 0 ? {} : { "Idempotency-Key": `batch-${index}` }),
    ...many(4, () => post("/v1/pets", { name: "Max", categoryId: 2_002 })),
  ]).flat();
  const answers = await sendAll(send, changes);
  expect(tally(answers)).toEqual({ 201: changes.length });
  const batches = answers.flatMap(({ body }) => (Array.isArray(body) ? [body as Resource[]] : []));
  expect(batches.map((batch) => [batch.length, isInRow(batch)])).toEqual(many(AT_ONCE, () => [25, true]));
  const ids = answers.flatMap(({ body }) => body as Resource | Resource[]).map(({ id }) => id);
  expect(new Set(ids).size).toBe(AT_ONCE * 29);
  // The order of the database has batches between single creations.
  const sizes = answers.toSorted(byTime).map(({ body }) => [body].flat().length);
  expect(sizes.indexOf(25)).toBeLessThan(sizes.lastIndexOf(1));
  expect(sizes.indexOf(1)).toBeLessThan(sizes.lastIndexOf(25));
});

test("of 20 deletions of one animal, one succeeds", async () => {
  const send = await newClient(service);
  const pet = await createPet(send);
  const answers = await sendAll(
    send,
    many(AT_ONCE, () => remove(pet)),
  );
  expect(tally(answers)).toEqual({ 204: 1, "404 not_found": AT_ONCE - 1 });
});

test("of a deletion and a change of one version, the first succeeds", async () => {
  const send = await newClient(service);
  const pets = await Promise.all(many(PAIRS, () => createPet(send)));
  const races = await race(
    service,
    pets,
    send,
    (pet) => remove(pet, 1),
    (pet) => patch(pet, { status: "sold" }, 1),
  );
  for (const { address, removed, changed, isRemovedFirst } of races) {
    const after = await send(get(address));
    if (isRemovedFirst) {
      expect([removed, changed]).toMatchObject([{ status: 204 }, { status: 404, code: "not_found" }]);
      expect(after.status).toBe(404);
    } else {
      expect(changed).toMatchObject({ status: 200, version: 2, body: { status: "sold" } });
      expect(removed).toMatchObject({ status: 412, code: "precondition_failed" });
      expect(after).toMatchObject({ status: 200, version: 2, body: changed.body });
    }
  }
});

test("a deletion of any version succeeds, before or after a change", async () => {
  const send = await newClient(service);
  const pets = await Promise.all(many(PAIRS, () => createPet(send)));
  const races = await race(service, pets, send, remove, (pet) => patch(pet, { status: "sold" }));
  for (const { address, removed, changed, isRemovedFirst } of races) {
    expect(removed.status).toBe(204);
    if (isRemovedFirst) expect(changed).toMatchObject({ status: 404, code: "not_found" });
    else expect(changed).toMatchObject({ status: 200, version: 2, body: { status: "sold" } });
    expect((await send(get(address))).status).toBe(404);
  }
});

test.each<[string, (category: number, pet: string) => Change]>([
  ["the creation of an animal", (categoryId) => post("/v1/pets", { name: "Max", categoryId })],
  ["the change of an animal", (categoryId, pet) => patch(pet, { categoryId })],
])("a category is deleted before %s that names it, and stays after", async (name, arrival) => {
  const send = await newClient(service);
  const pets = new Map<string, string>();
  await Promise.all(
    many(PAIRS, async (index) => pets.set(await createCategory(send, `${name} ${index}`), await createPet(send, -1))),
  );
  const idOf = (category: string) => Number(category.split("/").at(-1));
  const races = await race(service, [...pets.keys()], send, remove, (category) =>
    arrival(idOf(category), pets.get(category) ?? expect.unreachable()),
  );
  for (const { address, removed, changed, isRemovedFirst } of races) {
    // An animal may name a category that does not exist.
    expect(changed).toMatchObject({ body: { categoryId: idOf(address) } });
    const after = await send(patch(address, {}));
    if (isRemovedFirst) {
      expect(removed.status).toBe(204);
      expect(after.status).toBe(404);
    } else {
      expect(removed).toMatchObject({ status: 409, code: "category_in_use" });
      expect(after).toMatchObject({ status: 200, version: 1 });
    }
  }
});
