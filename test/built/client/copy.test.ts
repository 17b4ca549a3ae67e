import { readFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { type Animal, type Attempt, PetStore, type Progress } from "../../../client/src/index.ts";
import document from "../../../public/openapi.json" with { type: "json" };
import { encodeEventCursor } from "../../../src/feed/place.ts";
import { useBuiltService } from "../service.ts";
import { keepCopy } from "./copy.ts";

const GUIDE = readFileSync("docs/events.md", "utf8");

const service = useBuiltService();
let store: PetStore;
beforeAll(() => void (store = new PetStore({ baseUrl: `${service.url.origin}/v1`, apiKey: service.key })));
// Every pause is as short as it may be.
beforeEach(() => void vi.spyOn(Math, "random").mockReturnValue(0));
afterAll(() => void vi.restoreAllMocks());

/** A database with the tables of the guide, in which no version goes back. */
class Copy extends DatabaseSync {
  /** Is told each statement before it runs. */
  watch: (sql: string) => void = () => {};

  constructor() {
    super(":memory:");
    super.exec(/```sql\n(.*?)```/s.exec(GUIDE)?.[1] ?? "");
    super.exec(`CREATE TRIGGER ascend BEFORE UPDATE ON animals WHEN new.version <= old.version
      BEGIN SELECT RAISE(ABORT, 'The version of the copy goes back.'); END`);
  }

  override exec(sql: string): void {
    this.watch(sql);
    super.exec(sql);
  }

  get rows(): unknown[] {
    const select = this.prepare("SELECT id, version, name FROM animals ORDER BY id");
    select.setReadBigInts(true);
    return select.all().map(({ id, version, name }) => ({ id, version: Number(version), name }));
  }
}

/** The animals of the service, as the copy should have them. */
async function animals(): Promise<unknown[]> {
  const all = await store.pets.list({ etags: true, limit: 100 }).all(1_000);
  return all.map(({ id, version, name }) => ({ id, version, name }));
}

const create = async (name: string) => (await store.pets.create({ name, categoryId: 1 })).animal.id;

/** Keeps the copy for as many transactions. Every other connection breaks. */
async function keepFor(
  transactions: number,
  copy: Copy,
  onResponse: (path: string) => void | Promise<void> = () => {},
): Promise<void> {
  const controller = new AbortController();
  let breaks = false;
  const unstable = new PetStore({
    baseUrl: `${service.url.origin}/v1`,
    apiKey: service.key,
    fetch: async (url, init) => {
      breaks = !breaks;
      if (breaks) throw new TypeError("fetch failed");
      const response = await fetch(url, init);
      await onResponse(new URL(url).pathname + new URL(url).search);
      return response;
    },
  });
  let begun = 0;
  copy.watch = (sql) => {
    if (sql === "BEGIN") begun += 1;
    if (sql === "COMMIT" && begun === transactions) controller.abort();
  };
  await keepCopy(unstable, copy, controller.signal);
}

test("the program of the guide is the one that is tested", () => {
  const program = readFileSync("test/built/client/copy.ts", "utf8");
  const published = program.replace("../../../client/src/index.ts", "@petstore/client");
  expect(GUIDE).toContain(`\`\`\`ts\n${published}\`\`\``);
});

/** Fields that follow from others, and names of people. */
const LEFT_OUT = ["quantity", "complete", "customer"];
const columnsOf = (schema: "Animal" | "Category" | "Order") =>
  ["version", ...Object.keys(document.components.schemas[schema].properties)]
    .filter((field) => !LEFT_OUT.includes(field))
    .map((field) => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`));

test.each([
  ["animals", "Animal"],
  ["categories", "Category"],
  ["orders", "Order"],
] as const)("the copy of the examples has every field of its %s", (table, schema) => {
  const program = readFileSync("examples/copy.mjs", "utf8");
  const [, columns = ""] = new RegExp(`table\\(\\s*"${table}",\\s*"(.*?)"`).exec(program) ?? [];
  const names = columns.split(", ").map((column) => column.replace(/ .*/, ""));
  expect(["id", "version", ...names].toSorted()).toEqual(columnsOf(schema).toSorted());
});

// Promise: copies-are-replaced-whole, copies-survive-crashes, follow-in-the-guide, follow-pages, the-first-copy
test("a copy equals the service after changes during the first copy, a crash, and an expired cursor", async () => {
  const { DB } = await service.worker.getEnv();
  await DB.exec("DELETE FROM pets");
  const [a, b, c] = [await create("A"), await create("B"), await create("C")];
  const copy = new Copy();
  const changesBeforeEachResponse = async (path: string): Promise<void> => {
    if (path === "/v1/events?cursor=latest&type=pet.created&type=pet.updated&type=pet.deleted") {
      // Older than the lists, and newer than the cursor.
      for (const name of ["C2", "C3"]) await store.pets.update(c, { name });
      await store.pets.delete(await create("never listed"));
    } else if (path.startsWith("/v1/pets")) {
      await store.pets.update(a, { name: "A2" });
      await store.pets.delete(b);
      await create("D");
    }
  };
  // The lists, the cursor of the end, and the events.
  await keepFor(3, copy, changesBeforeEachResponse);
  expect(copy.rows).toEqual(await animals());
  expect(copy.rows).toMatchObject([{ id: a, name: "A2" }, { name: "C3", version: 3 }, { name: "D" }]);

  // A crash at the end of the transaction.
  await store.pets.delete(c);
  const e = await create("E");
  await store.pets.update(e, { name: "E2" });
  copy.watch = (sql) => {
    if (sql === "COMMIT") throw new Error("crash");
  };
  const before = copy.rows;
  await expect(keepCopy(store, copy, new AbortController().signal)).rejects.toThrow("crash");
  expect(copy.rows).toEqual(before);
  await keepFor(1, copy);
  expect(copy.rows).toEqual(await animals());

  // A history that is gone: its animals, and higher versions.
  copy.prepare("INSERT INTO animals VALUES (?, 1, 'lost')").run(99n);
  copy.prepare("UPDATE animals SET version = 100, name = 'lost' WHERE id = ?").run(e);
  copy.prepare("UPDATE place SET cursor = ?").run(encodeEventCursor("00000000000f4240deadbeef"));
  await keepFor(2, copy);
  expect(copy.rows).toEqual(await animals());
  await store.pets.update(e, { name: "E3" });
  await keepFor(1, copy);
  expect(copy.rows).toEqual(await animals());
});

// Promise: live-goes-on, live-renews
test("a page that is told much comes back at once with another socket, and misses nothing", async () => {
  // A pause would be longer than the test.
  vi.spyOn(Math, "random").mockReturnValue(1_000);
  const { token } = await store.token({ customer: "ada", scopes: ["pets:read"] });
  let sockets = 0;
  const onAttempt = ({ status }: Attempt) => void (sockets += status === 101 ? 1 : 0);
  const page = new PetStore({ baseUrl: `${service.url.origin}/v1`, apiKey: token, onAttempt });
  const controller = new AbortController();
  const told: bigint[] = [];
  const listen = async () => {
    const feed = page.events.follow({ live: true, types: ["pet.created"], signal: controller.signal });
    for await (const { events } of feed) told.push(...events.map(({ data }) => (data as Animal).id));
  };
  const ended = listen();
  await expect.poll(() => sockets).toBe(1);
  // Four times 100 KiB and more, of the 256 that a socket gets at most.
  const created: bigint[] = [];
  const large = Array.from({ length: 400 }, () => ({ name: "🐕".repeat(255), categoryId: 1 }));
  const onProgress = ({ animals }: Progress) => void created.push(...animals.map(({ id }) => id));
  await store.pets.createMany(large, { onProgress });
  await expect.poll(() => told).toEqual(created);
  expect(sockets).toBeGreaterThan(1);
  controller.abort();
  await ended;
});
