// What the number of animals costs: time and rows of a page, and bytes.
import type { Candidate } from "./candidates.ts";
import { connections, LIST, send } from "./requests.ts";
import { RARE, Service } from "./service.ts";
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
  const services = new Map<number, Service>();
  for (const size of SIZES) services.set(size, await Service.start(candidate, size));
  const largest = services.get(LARGEST);
  if (largest === undefined) throw new Error("no service");
  const agent = connections(1);
  const empty = await Service.start(candidate, 0);
  const middle = await empty.cursorAfter(LARGEST / 2);
  await empty.stop();
  const page = (animals: number, name: string, query = "") => ({
    animals,
    name,
    request: { ...LIST, path: `/v1/pets?limit=${PAGE_SIZE}${query}` },
    service: services.get(animals) ?? largest,
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
      for (const { request, service, times } of group) {
        const milliseconds = await send(agent, service.port, request);
        if (sample >= 0) times.push(milliseconds);
      }
    }
  }
  const costs = [];
  for (const { animals, name, request, service, times } of [...pages, ...deepPages]) {
    const { read } = await service.rowsOf(request);
    costs.push({ animals, page: name, milliseconds: spread(times), rowsRead: read });
  }
  agent.destroy();
  await Promise.all([...services.values()].map((service) => service.stop()));
  return costs;
}

const GROWTH_ROWS = 100_000;
const ANIMALS_SQL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${GROWTH_ROWS})
  INSERT INTO pets (name, category_id, status) SELECT 'Animal ' || i, i % 100, 'available' FROM n`;
/** With keys as long as a UUID. */
const KEYS_SQL = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${GROWTH_ROWS})
  INSERT INTO idempotency_keys (api_key_id, idempotency_key, fingerprint, resource_id, created_at)
  SELECT hex(randomblob(18)), hex(randomblob(18)), hex(randomblob(32)), i, unixepoch() FROM n`;

export interface Growth {
  bytesPerAnimal: number;
  bytesPerIdempotencyKey: number;
}

/** Bytes of the database for each row that is added, indexes included. */
export async function measureGrowth(candidate: Candidate): Promise<Growth> {
  const service = await Service.start(candidate, 0);
  const empty = await service.sizeAfter("SELECT 1");
  const animals = await service.sizeAfter(ANIMALS_SQL);
  const keys = await service.sizeAfter(KEYS_SQL);
  await service.stop();
  return {
    bytesPerAnimal: (animals - empty) / GROWTH_ROWS,
    bytesPerIdempotencyKey: (keys - animals) / GROWTH_ROWS,
  };
}
