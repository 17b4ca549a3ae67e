// What the number of animals and orders costs: time and rows of a page, and bytes.
import { createHash } from "node:crypto";
import { MAX_IDS } from "../src/pets/list-pets.ts";
import type { Candidate } from "./candidates.ts";
import { Instance, RARE, RARE_CATEGORY, RARE_PET } from "./instance.ts";
import { connections, CREATE, LIST, send } from "./requests.ts";
import { type Spread, spread } from "./spread.ts";

/** No larger than the smallest database, so that all answers are alike. */
const PAGE_SIZE = 10;
const PAGE_SAMPLES = 300;
const PAGE_WARM_UP = 100;
const SIZES = [10, 1_000, 1_000_000];
const LARGEST = Math.max(...SIZES);

export interface PageCost {
  animals: number;
  page: string;
  milliseconds: Spread;
  rowsRead: number;
}

/** As many as a request may name, spread over the largest database. */
const IDS = Array.from({ length: MAX_IDS }, (_, index) => `&id=${((index + 1) * LARGEST) / MAX_IDS}`).join("");

/**
 * The list, from databases of several sizes, and in the largest from its depth and by filters whose match is rare. The largest has as
 * many orders as animals.
 */
export async function measurePages(candidate: Candidate): Promise<PageCost[]> {
  await using running = new AsyncDisposableStack();
  const agent = running.adopt(connections(1), (open) => open.destroy());
  const instances = new Map<number, Instance>();
  for (const animals of [0, ...SIZES]) instances.set(animals, running.use(await Instance.start(candidate, animals)));
  const withAnimals = (animals: number) => {
    const instance = instances.get(animals);
    if (instance === undefined) throw new Error(`no instance with ${animals} animals`);
    return instance;
  };
  const middle = await withAnimals(0).cursorAfter(LARGEST / 2);
  await withAnimals(LARGEST).fillOrders(LARGEST);
  const page = (animals: number, name: string, query = "", path = "/v1/pets") => ({
    animals,
    name,
    request: { ...LIST, path: `${path}?limit=${PAGE_SIZE}${query}` },
    instance: withAnimals(animals),
    times: [] as number[],
  });
  const orderPage = (name: string, query = "") => page(LARGEST, `orders, ${name}`, query, "/v1/store/orders");
  const pages = SIZES.map((animals) => page(animals, "first"));
  const deepPages = [
    page(LARGEST, "first"),
    page(LARGEST, "from the middle", `&cursor=${middle}`),
    page(LARGEST, `first of a status of 1 in ${RARE}`, "&status=sold"),
    page(LARGEST, "from the middle of that status", `&status=sold&cursor=${middle}`),
    page(LARGEST, `first of a category of 1 in ${RARE}`, `&categoryId=${RARE_CATEGORY}`),
    page(LARGEST, "from the middle of that category", `&categoryId=${RARE_CATEGORY}&cursor=${middle}`),
    page(
      LARGEST,
      "from the middle of that category and status",
      `&categoryId=${RARE_CATEGORY}&status=sold&cursor=${middle}`,
    ),
    page(LARGEST, `first of ${MAX_IDS} ids`, IDS),
    page(LARGEST, "of these ids, that category and status", `&categoryId=${RARE_CATEGORY}&status=sold${IDS}`),
  ];
  const orderPages = [
    orderPage("first"),
    orderPage("from the middle", `&cursor=${middle}`),
    orderPage(`first of a status of 1 in ${RARE}`, "&status=placed"),
    orderPage("from the middle of that status", `&status=placed&cursor=${middle}`),
    orderPage(`first of an animal that has 1 in ${RARE}`, `&petId=${RARE_PET}`),
    orderPage("from the middle of that animal", `&petId=${RARE_PET}&cursor=${middle}`),
    orderPage("from the middle of that animal, cancelled", `&petId=${RARE_PET}&status=cancelled&cursor=${middle}`),
    orderPage("from the middle of that animal, shipped", `&petId=${RARE_PET}&status=shipped&cursor=${middle}`),
  ];
  // Apart, so that each process is asked as often as the others of its comparison.
  for (const group of [pages, deepPages, orderPages]) {
    for (let sample = -PAGE_WARM_UP; sample < PAGE_SAMPLES; sample++) {
      for (const { request, instance, times } of group) {
        const milliseconds = await send(agent, instance.port, request);
        if (sample >= 0) times.push(milliseconds);
      }
    }
  }
  const costs = [];
  for (const { animals, name, request, instance, times } of [...pages, ...deepPages, ...orderPages]) {
    const { read } = await instance.rowsOf(request);
    costs.push({ animals, page: name, milliseconds: spread(times), rowsRead: read });
  }
  return costs;
}

const GROWTH_ANIMALS = 100_000;
const ANIMALS_SQL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${GROWTH_ANIMALS})
  INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, i % 100, 'available' FROM n`;
const GROWTH_KEYS = 3_000;

export interface Growth {
  bytesPerAnimal: number;
  bytesPerIdempotencyKey: number;
}

/** Bytes of the database for each row that is added, indexes included. */
export async function measureGrowth(candidate: Candidate): Promise<Growth> {
  await using instance = await Instance.start(candidate, 0);
  const empty = await instance.databaseSize();
  await instance.execute(ANIMALS_SQL);
  const animals = await instance.databaseSize();
  // By requests, because the service alone knows what it keeps of a key.
  await createOnce(instance.port, GROWTH_KEYS);
  const keys = await instance.databaseSize();
  const bytesPerAnimal = (animals - empty) / GROWTH_ANIMALS;
  return { bytesPerAnimal, bytesPerIdempotencyKey: (keys - animals) / GROWTH_KEYS - bytesPerAnimal };
}

/** Creates animals with names as long as those of `ANIMALS_SQL`, each with an `Idempotency-Key` as long as a UUID. */
async function createOnce(port: number, count: number): Promise<void> {
  using running = new DisposableStack();
  const agent = running.adopt(connections(8), (open) => open.destroy());
  const body = JSON.stringify({ name: "Animal 12345", categoryId: 7 });
  const create = (index: number) => {
    // The same keys in each run, in no order: how full the pages of an index are depends on them.
    const key = createHash("sha256").update(`${index}`).digest("hex").slice(0, 36);
    return send(agent, port, { ...CREATE, body, headers: { ...CREATE.headers, "Idempotency-Key": key } });
  };
  await Promise.all(Array.from({ length: count }, (_, index) => create(index)));
}
