import { deepEqual, equal, ok } from "node:assert/strict";
import { generateKey } from "../../src/auth/key-format.ts";
import { type Module, startBundles } from "../bundles.ts";
import { applyMigrations } from "../migrations.ts";

const ANIMALS = 100_000;
const CATEGORIES = 1_000;
const FILL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ANIMALS})
  INSERT INTO pets (name, category_id, status)
  SELECT 'Animal ' || i, i % ${CATEGORIES}, iif(i % 10 = 0, 'sold', 'available') FROM n`;
/** An animal of `FILL`, as the service returns it. */
const animal = (id: number) => ({
  id,
  name: `Animal ${id}`,
  categoryId: id % CATEGORIES,
  status: id % 10 === 0 ? "sold" : "available",
});
/** The animals of `FILL` that are unchanged, in their fields and their version. */
const COUNT_UNCHANGED = `SELECT count(*) AS count FROM pets WHERE version = 1 AND id <= ${ANIMALS}
  AND name = 'Animal ' || id AND category_id = id % ${CATEGORIES} AND status = iif(id % 10 = 0, 'sold', 'available')`;

/** A word of ten scripts each. */
const WORDS = ["Straße", "Каштанка", "Ἄργος", "ليلى", "लड्डू", "แมวส้ม", "黒猫タマ", "초코", "ნინო", "Խատուտիկ"];
const nameOf = (number: number) => `${WORDS[number % WORDS.length]} ${number}`;

type Version = "before" | "after";

/** A version of the service. */
interface Code {
  bundle: string;
  migrations: string;
}

/**
 * Runs earlier code on its own schema, migrates the database while it responds, runs the current code on it, goes back, and comes again.
 * test/world/world.test.ts runs both beside each other.
 *
 * @throws AssertionError for a wrong response.
 */
export async function upgrade(before: Code, after: Code): Promise<void> {
  const key = generateKey("production");
  const workers = { before: [worker(before.bundle)], after: [worker(after.bundle)] };
  await using versions = await startBundles(workers, key);
  const { database } = versions;
  await applyMigrations(database, before.migrations);
  await database.prepare(FILL).run();

  async function expect(version: Version, path: string, status: number, body?: unknown, init: Init = {}) {
    const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...init.headers };
    const response = await versions.dispatchFetch(`https://${version}.example${path}`, { ...init, headers });
    const [text, request] = [await response.text(), `${init.method ?? "GET"} ${path}`];
    equal(response.status, status, `${request} is ${response.status} with the code ${version}`);
    const message = `${request} returns other animals with the code ${version}`;
    if (body !== undefined) deepEqual(JSON.parse(text), body, message);
    const { headers: received } = response;
    return {
      text,
      etag: received.get("ETag"),
      replayed: received.get("Idempotency-Replayed"),
      next: /<[^>]*(\/v1\/[^>]+)>; rel="next"/.exec(received.get("Link") ?? "")?.[1],
    };
  }

  /** Animals that the service created, and their creations under an `Idempotency-Key`. */
  const created = new Map<number, Pet>();
  const creations = new Map<string, { init: Init; text: string }>();

  async function create(version: Version, name: string, key?: string): Promise<void> {
    const body = JSON.stringify({ name, categoryId: -1 });
    const init: Init = { method: "POST", body, headers: key === undefined ? {} : { "Idempotency-Key": key } };
    const { text } = await expect(version, "/v1/pets", 201, undefined, init);
    const pet: Pet = JSON.parse(text);
    deepEqual(pet, { id: pet.id, name, categoryId: -1, status: "available" }, "POST /v1/pets returns another animal");
    created.set(pet.id, pet);
    if (key === undefined) return;
    equal(creations.get(key)?.text ?? text, text, `the retry of a creation creates again with the code ${version}`);
    creations.set(key, { init, text });
  }

  const get = (id: number) => expect("before", `/v1/pets/${id}`, 200, animal(id));
  const sold = Array.from({ length: 100 }, (_, index) => animal(10 * (index + 1)));
  let sent = 0;
  const requests = [
    () => get(1 + ((++sent * 7_919) % ANIMALS)),
    () => expect("before", "/v1/pets?status=sold&limit=100", 200, sold),
    () => create("before", nameOf(++sent)),
    () => create("before", nameOf(++sent), `new-${sent}`),
    () => create("before", "New 0", "repeated"),
    () => expect("before", "/v1/pets?limit=0", 400),
    () => expect("before", "/v1/pets/999999999", 404),
    () => expect("before", "/v1/pets", 401, undefined, { headers: { Authorization: "Bearer wrong" } }),
  ];
  const sendAll = () => Promise.all(requests.map((request) => request()));
  await sendAll();
  const progress = { isMigrated: false };
  const migration = applyMigrations(database, after.migrations).finally(() => {
    progress.isMigrated = true;
  });
  // Each kind waits for its response before it sends the next request.
  const keepSending = requests.map(async (request) => {
    while (!progress.isMigrated) await request();
  });
  await Promise.all([migration, ...keepSending]);
  await sendAll();

  const count = (sql: string) => database.prepare(sql).first<number>("count");
  const countPets = () => count("SELECT count(*) AS count FROM pets");
  equal(await count(COUNT_UNCHANGED), ANIMALS, "an animal from before has changed");
  equal(await countPets(), ANIMALS + created.size, "an animal was lost or doubled");

  // The current code continues with the data of the earlier.
  const ids = [...created.keys()].toSorted((a, b) => a - b);
  for (let start = 0; start < ids.length; start += 100) {
    const page = ids.slice(start, start + 100);
    const path = `/v1/pets?limit=100&${page.map((id) => `id=${id}`).join("&")}`;
    await expect(
      "after",
      path,
      200,
      page.map((id) => created.get(id)),
    );
  }
  equal((await expect("after", "/v1/pets/77777", 200, animal(77_777))).etag, '"1"', "an animal has another version");
  const ofCategory = Array.from({ length: ANIMALS / CATEGORIES }, (_, index) => animal(123 + index * CATEGORIES));
  await expect("after", "/v1/pets?categoryId=123&limit=100", 200, ofCategory);
  await retryCreations("after");

  /** Asks the current code for the newest animals by their names. */
  async function search(): Promise<void> {
    for (const { id, name } of [...created.values()].slice(-WORDS.length)) {
      let path: string | undefined = `/v1/pets?limit=100&q=${encodeURIComponent(name)}`;
      let isFound = false;
      while (!isFound && path !== undefined) {
        const { text, next } = await expect("after", path, 200);
        isFound = (JSON.parse(text) as Pet[]).some((pet) => pet.id === id);
        path = next;
      }
      ok(isFound, `a search does not find ${name}`);
    }
  }

  async function retryCreations(version: Version): Promise<void> {
    for (const { init, text } of creations.values()) {
      const retry = await expect(version, "/v1/pets", 201, undefined, init);
      deepEqual([retry.replayed, retry.text], ["true", text], "the retry of a creation from before creates again");
    }
    equal(await countPets(), ANIMALS + created.size, "the retry of a creation from before creates again");
  }

  await search();
  await versions.runJob("after");
  await search();
  // A rollback, and the release once more.
  for (const version of ["after", "before"] as const) {
    for (const _ of WORDS) await create(version, nameOf(++sent), `${version}-${sent}`);
    const [pet] = [...created.values()].slice(-1);
    ok(pet);
    const renamed = { ...pet, name: nameOf(++sent) };
    const change = { method: "PATCH", body: JSON.stringify({ name: renamed.name }) };
    await expect(version, `/v1/pets/${pet.id}`, 200, renamed, change);
    created.set(pet.id, renamed);
    await retryCreations("before");
    await search();
  }
  await retryCreations("after");
  await versions.runJob("after");
  await search();
}

interface Pet {
  id: number;
  name: string;
}

const worker = (contents: string): Module => ({ type: "ESModule", path: "index.js", contents });

interface Init {
  method?: string;
  body?: string;
  headers?: Record<string, string>;
}
