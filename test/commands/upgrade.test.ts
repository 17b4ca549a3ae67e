import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Call, revisionBefore, TwoVersions } from "./two-versions.ts";

// A deployment applies the migrations first. The version before then runs on the new tables, until the new one takes its place.

const MIGRATION = "drizzle/0003_versions_and_categories.sql";
/** Milliseconds. The builds take ten seconds, and many times that when the machine has other things to do. */
const BUILD_TIMEOUT = 300_000;
const ANIMALS = 100_000;
const CATEGORIES = 1_000;
const FILL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ANIMALS})
  INSERT INTO pets (name, category_id, status)
  SELECT 'Animal ' || i, i % ${CATEGORIES}, iif(i % 10 = 0, 'sold', 'available') FROM n`;
/** Those of `FILL` that are as it made them, and have the version of an animal that nobody changed. */
const COUNT_UNCHANGED = `SELECT count(*) AS count FROM pets WHERE version = 1 AND id <= ${ANIMALS}
  AND name = 'Animal ' || id AND category_id = id % ${CATEGORIES} AND status = iif(id % 10 = 0, 'sold', 'available')`;
/** As the service shows one of them. */
const animal = (id: number) => ({
  id,
  name: `Animal ${id}`,
  categoryId: id % CATEGORIES,
  status: id % 10 === 0 ? "sold" : "available",
});

const before = revisionBefore(MIGRATION);

if (before === undefined) {
  // Vitest hides what the console gets of tests that do not fail.
  process.stderr.write(`Not tested: an upgrade. The history of git does not go back to before ${MIGRATION}.\n`);
}

describe.runIf(before !== undefined)("an upgrade of a database with animals", () => {
  let versions: TwoVersions;
  beforeAll(async () => {
    versions = await TwoVersions.start(before ?? expect.unreachable());
    await versions.database.prepare(FILL).run();
  }, BUILD_TIMEOUT);
  afterAll(() => versions?.[Symbol.asyncDispose]());

  const countPets = () => versions.database.prepare("SELECT count(*) AS count FROM pets").first("count");

  /** Animals that the version before created, and their creations under an `Idempotency-Key`. */
  const created = new Map<number, object>();
  const creations: { call: Call; body: string }[] = [];

  async function expectCreated(number: number, idempotencyKey?: string): Promise<void> {
    const call: Call = {
      method: "POST",
      body: JSON.stringify({ name: `New ${number}`, categoryId: -1 }),
      headers: idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey },
    };
    const response = await versions.send("before", "/v1/pets", call);
    const body = await response.text();
    expect({ status: response.status, body }).toMatchObject({ status: 201 });
    const pet = JSON.parse(body) as { id: number };
    expect(pet).toMatchObject({ name: `New ${number}`, categoryId: -1, status: "available" });
    created.set(pet.id, pet);
    if (idempotencyKey !== undefined) creations.push({ call, body });
  }

  async function expectFetched(id: number): Promise<void> {
    const response = await versions.send("before", `/v1/pets/${id}`);
    expect([response.status, await response.json()]).toEqual([200, animal(id)]);
  }

  async function expectListed(): Promise<void> {
    const response = await versions.send("before", "/v1/pets?status=sold&limit=100");
    const sold = Array.from({ length: 100 }, (_, index) => animal(10 * (index + 1)));
    expect([response.status, await response.json()]).toEqual([200, sold]);
  }

  /** A request of each kind, by the number of the request. */
  const REQUESTS: ((number: number) => Promise<void>)[] = [
    (number) => expectFetched(1 + ((number * 7_919) % ANIMALS)),
    () => expectListed(),
    (number) => expectCreated(number),
    (number) => expectCreated(number, `new-${number}`),
    () => expectCreated(0, "repeated"),
  ];

  test("costs no request to the version before, while its tables are migrated", async () => {
    const traffic = { sent: 0, isEnough: true };
    // Each kind waits for its response before it sends the next request.
    const expectAnswers = (request: (number: number) => Promise<void>): Promise<void> =>
      request(++traffic.sent).then(() => (traffic.isEnough ? undefined : expectAnswers(request)));
    const expectAllAnswers = () => Promise.all(REQUESTS.map(expectAnswers));
    await expectAllAnswers();
    traffic.isEnough = false;
    const migration = versions.migrate().finally(() => {
      traffic.isEnough = true;
    });
    await Promise.all([migration, expectAllAnswers()]);
    await expectAllAnswers();
  });

  test("keeps every animal, each in its first version", async () => {
    expect(await versions.database.prepare(COUNT_UNCHANGED).first("count")).toBe(ANIMALS);
    expect(await countPets()).toBe(ANIMALS + created.size);
    const ids = [...created.keys()];
    for (let start = 0; start < ids.length; start += 100) {
      const page = ids.slice(start, start + 100).toSorted((a, b) => a - b);
      const response = await versions.send("after", `/v1/pets?limit=100&${page.map((id) => `id=${id}`).join("&")}`);
      expect(await response.json()).toEqual(page.map((id) => created.get(id)));
    }
    const old = await versions.send("after", "/v1/pets/77777");
    expect([old.status, old.headers.get("ETag"), await old.json()]).toEqual([200, '"1"', animal(77_777)]);
  });

  test("lets the new version go on where the version before was", async () => {
    const listed = await versions.send("after", "/v1/pets?categoryId=123&limit=100");
    const ofCategory = Array.from({ length: ANIMALS / CATEGORIES }, (_, index) => animal(123 + index * CATEGORIES));
    expect([listed.status, await listed.json()]).toEqual([200, ofCategory]);

    for (const { call, body } of creations) {
      const replayed = await versions.send("after", "/v1/pets", call);
      expect([replayed.status, replayed.headers.get("Idempotency-Replayed"), await replayed.text()]).toEqual([
        201,
        "true",
        body,
      ]);
    }
    expect(await countPets()).toBe(ANIMALS + created.size);
  });

  test("lets both versions see each other's changes, until the one before is gone", async () => {
    const patch = { method: "PATCH", body: '{"status":"pending"}', headers: { "If-Match": '"1"' } };
    const patched = await versions.send("after", "/v1/pets/42", patch);
    const pending = { ...animal(42), status: "pending" };
    expect([patched.status, patched.headers.get("ETag"), await patched.json()]).toEqual([200, '"2"', pending]);
    expect(await (await versions.send("before", "/v1/pets/42")).json()).toEqual(pending);

    expect(
      (await versions.send("after", "/v1/pets/43", { method: "DELETE", headers: { "If-Match": '"1"' } })).status,
    ).toBe(204);
    expect((await versions.send("before", "/v1/pets/43")).status).toBe(404);

    await expectCreated(-1);
    const id = [...created.keys()].at(-1);
    expect((await versions.send("after", `/v1/pets/${id}`)).headers.get("ETag")).toBe('"1"');
  });
});
