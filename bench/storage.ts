// Measures the Workers with the D1 and the KV of workerd: the cost by number of animals and orders, and the latency.
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";
import { countPets } from "../src/orders/get-inventory.ts";
import { MAX_IDS } from "../src/pets/list-pets.ts";
import type { Candidate } from "./candidates.ts";
import { fill, type Instance, ORDERS, RARE, RARE_CATEGORY, RARE_PET, startInstance } from "./instance.ts";
import { CREATE, GET, LIST, send } from "./requests.ts";

const LARGEST = 1_000_000;
const PAGE_SAMPLES = 200;
const PAGE_WARM_UP = 50;
export const INVENTORY_SAMPLES = 20;
/** The maximum number of ids in a request, spread over the largest database. */
const IDS = Array.from({ length: MAX_IDS }, (_, index) => `&id=${((index + 1) * LARGEST) / MAX_IDS}`).join("");
const CATEGORY = `&categoryId=${RARE_CATEGORY}`;
/** Lists in the largest database, deep pages and filters with rare matches. */
const PAGES: { [page: string]: string } = {
  "from the middle": "/pets?CURSOR",
  [`of a status of 1 in ${RARE}, from the middle`]: "/pets?status=sold&CURSOR",
  [`of a category of 1 in ${RARE}`]: `/pets?${CATEGORY}`,
  "of that category, from the middle": `/pets?${CATEGORY}&CURSOR`,
  "of that category and status, from the middle": `/pets?status=sold${CATEGORY}&CURSOR`,
  [`of ${MAX_IDS} ids`]: `/pets?${IDS}`,
  "of these ids, that category and status": `/pets?status=sold${CATEGORY}${IDS}`,
  "of orders, from the middle": "/store/orders?CURSOR",
  [`of orders of a status of 1 in ${RARE}, from the middle`]: "/store/orders?status=placed&CURSOR",
  [`of orders of an animal that has 1 in ${RARE}, from the middle`]: `/store/orders?petId=${RARE_PET}&CURSOR`,
  "of cancelled orders of that animal, from the middle": `/store/orders?petId=${RARE_PET}&status=cancelled&CURSOR`,
  "of shipped orders of that animal, from the middle": `/store/orders?petId=${RARE_PET}&status=shipped&CURSOR`,
};

export interface Sizes {
  pages: { animals: number; page: string; milliseconds: number[]; rows: number }[];
  /** The milliseconds are those that D1 reports: the service itself counts once in ten seconds. */
  inventories: { animals: number; milliseconds: number[]; rows: number }[];
  /** Indexes included. */
  bytesPerAnimal: number;
  bytesPerKey: number;
}

/** Measures pages of small and large databases, and the size of a row. The largest database has as many orders as animals. */
export async function measureSizes(candidate: Candidate): Promise<Sizes> {
  await using running = new AsyncDisposableStack();
  const start = async (animals: number) => running.use(await startInstance(candidate, animals));
  const small = await start(10);
  const large = await start(LARGEST);
  const bytesPerAnimal = ((await sizeOf(large)) - (await sizeOf(small))) / LARGEST;
  await fill(large.database, ORDERS, LARGEST);

  const path = `/v1/pets?limit=1&id=${LARGEST / 2}&id=${LARGEST}`;
  const link = (await send(large.port, { ...LIST, path })).headers.get("Link");
  const cursor = /cursor=[\w-]+/.exec(link ?? "")?.[0] ?? "";
  /** At most as many animals as in the smallest database, so that all responses are equal. */
  const list = (instance: Instance, animals: number, page: string, path: string) => {
    const request = { ...LIST, name: page, path: `/v1${path.replace("CURSOR", cursor)}&limit=10` };
    return { instance, animals, page, request, milliseconds: [] as number[] };
  };
  const middle = await start(1_000);
  const first = [
    list(small, 10, "first", "/pets?"),
    list(middle, 1_000, "first", "/pets?"),
    list(large, LARGEST, "first", "/pets?"),
  ];
  const others = Object.entries(PAGES).map(([page, path]) => list(large, LARGEST, page, path));
  // Separate, so that each process gets as many requests as the others of its comparison.
  for (const group of [first, others]) {
    for (let sample = -PAGE_WARM_UP; sample < PAGE_SAMPLES; sample++) {
      for (const { request, instance, milliseconds } of group) {
        const began = performance.now();
        await send(instance.port, request);
        if (sample >= 0) milliseconds.push(performance.now() - began);
      }
    }
  }
  const pages = [];
  for (const page of [...first, ...others]) pages.push({ ...page, rows: await page.instance.rowsRead(page.request) });
  const inventories = [];
  for (const [animals, instance] of [
    [1_000, middle],
    [100_000, await start(100_000)],
    [LARGEST, large],
  ] as const) {
    inventories.push({ animals, ...(await countOften(instance)) });
  }
  return { pages, inventories, bytesPerAnimal, bytesPerKey: (await bytesPerCreation(small)) - bytesPerAnimal };
}

async function countOften({ database }: Instance) {
  const milliseconds: number[] = [];
  let rows = 0;
  for (let sample = 0; sample < INVENTORY_SAMPLES; sample++) {
    const { meta } = await database.prepare(countPets({}).sql).all();
    milliseconds.push(meta.duration);
    rows = meta.rows_read;
  }
  return { milliseconds, rows };
}

const CREATIONS = 3_000;

/** Bytes of an animal with a name of 12 characters, and of its `Idempotency-Key` of 36. */
async function bytesPerCreation(instance: Instance): Promise<number> {
  const before = await sizeOf(instance);
  for (let creation = 0; creation < CREATIONS; creation++) {
    // The same unordered keys in each run, because they determine how full the pages of an index are.
    const key = createHash("sha256").update(`${creation}`).digest("hex").slice(0, 36);
    const body = JSON.stringify({ name: "Animal 12345", categoryId: 7 });
    await send(instance.port, { ...CREATE, body, headers: { ...CREATE.headers, "Idempotency-Key": key } });
  }
  return ((await sizeOf(instance)) - before) / CREATIONS;
}

/** Bytes. */
async function sizeOf({ database }: Instance): Promise<number> {
  return (await database.prepare("SELECT 1").run()).meta.size_after;
}

const SAMPLES = 100;
const WARM_UP = 100;
/** Milliseconds from one request to the next, over all candidates. An open loop: it does not wait for responses. */
const INTERVAL = 12;

export const LATENCY_METHOD = `Each database has 1,000 animals.
Each Worker gets ${SAMPLES} requests of each kind. One is sent every ${INTERVAL} ms, to the Workers in turn.`;
export const LATENCY_REQUESTS = [LIST, CREATE, GET];

export interface Latency {
  candidate: Candidate;
  /** Of each request of `LATENCY_REQUESTS`. */
  milliseconds: number[][];
}

/** At a low rate. */
export async function measureLatency(candidates: Candidate[]): Promise<Latency[]> {
  await using running = new AsyncDisposableStack();
  const measured = [];
  for (const candidate of candidates) {
    const { port } = running.use(await startInstance(candidate, 1_000));
    const kinds = LATENCY_REQUESTS.map((request) => ({ port, request, times: [] as number[] }));
    for (let request = 0; request < WARM_UP; request++) for (const kind of kinds) await send(port, kind.request);
    measured.push({ candidate, kinds });
  }
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let sample = 0; sample < SAMPLES; sample++) {
    for (const { port, request, times } of measured.flatMap(({ kinds }) => kinds)) {
      await wait(Math.max(0, begin + pending.length * INTERVAL - performance.now()));
      const began = performance.now();
      pending.push(send(port, request).then(() => void times.push(performance.now() - began)));
    }
  }
  await Promise.all(pending);
  return measured.map(({ candidate, kinds }) => ({ candidate, milliseconds: kinds.map(({ times }) => times) }));
}
