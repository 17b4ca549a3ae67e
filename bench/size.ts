// What the number of animals costs: time and rows of a page, and bytes.
import type { Candidate } from "./candidates.ts";
import { Instance, RARE } from "./instance.ts";
import { connections, LIST, send } from "./requests.ts";
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

/** The list, from databases of several sizes, and in the largest from its depth and for a rare status. */
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
  const page = (animals: number, name: string, query = "") => ({
    animals,
    name,
    request: { ...LIST, path: `/v1/pets?limit=${PAGE_SIZE}${query}` },
    instance: withAnimals(animals),
    times: [] as number[],
  });
  const pages = SIZES.map((animals) => page(animals, "first"));
  const deepPages = [
    page(LARGEST, "first"),
    page(LARGEST, "from the middle", `&cursor=${middle}`),
    page(LARGEST, `first of a status of 1 in ${RARE}`, "&status=sold"),
    page(LARGEST, "from the middle of that status", `&status=sold&cursor=${middle}`),
  ];
  // Apart, so that each process is asked as often as the others of its comparison.
  for (const group of [pages, deepPages]) {
    for (let sample = -PAGE_WARM_UP; sample < PAGE_SAMPLES; sample++) {
      for (const { request, instance, times } of group) {
        const milliseconds = await send(agent, instance.port, request);
        if (sample >= 0) times.push(milliseconds);
      }
    }
  }
  const costs = [];
  for (const { animals, name, request, instance, times } of [...pages, ...deepPages]) {
    const { read } = await instance.rowsOf(request);
    costs.push({ animals, page: name, milliseconds: spread(times), rowsRead: read });
  }
  return costs;
}

const GROWTH_ROWS = 100_000;
const ANIMALS_SQL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${GROWTH_ROWS})
  INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, i % 100, 'available' FROM n`;
/** With keys as long as a UUID, of a hundred API keys. */
const KEYS_SQL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${GROWTH_ROWS})
  INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, resource_id, created_at)
  SELECT printf('key_%012d', i % 100), hex(randomblob(18)), hex(randomblob(32)), i, unixepoch() FROM n`;

export interface Growth {
  bytesPerAnimal: number;
  bytesPerIdempotencyKey: number;
}

/** Bytes of the database for each row that is added, indexes included. */
export async function measureGrowth(candidate: Candidate): Promise<Growth> {
  await using instance = await Instance.start(candidate, 0);
  const empty = await instance.sizeAfter("SELECT 1");
  const animals = await instance.sizeAfter(ANIMALS_SQL);
  const keys = await instance.sizeAfter(KEYS_SQL);
  return {
    bytesPerAnimal: (animals - empty) / GROWTH_ROWS,
    bytesPerIdempotencyKey: (keys - animals) / GROWTH_ROWS,
  };
}
