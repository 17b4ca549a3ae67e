import { type Animal, PetStore, type Session } from "../../../client/src/index.ts";
import { grantProductionKey, type ProductionService } from "../../../scripts/production-service.ts";
import { atRandom, type ChaosProxy, startChaosProxy } from "./proxy.ts";

/** Creations at the same time. */
const CONCURRENCY = 32;
/** A key has 1,000 requests a minute. */
const CREATIONS_PER_KEY = 250;
/** Milliseconds that the client waits for a response. The slowest responses take longer. */
export const TIMEOUT = 2_000;
export const LATE = 3_000;
export const FAULT_SHARE = 0.35;
/** A request may meet many faults in a row. */
export const RETRY = { attempts: 25, firstPause: 10, longestPause: 1_000 };

export interface Outcome {
  /** Animals that are missing or differ from the request. */
  lost: number[];
  /** Animals that are in the service twice. */
  doubled: number[];
  /** Animals whose id or category differs from what was sent or returned. */
  rounded: number[];
  /** Changes with a version that were not made exactly once. */
  wrongChanges: number[];
  /** Deleted animals that are still there. */
  remaining: number[];
  replayed: number;
  proxy: Pick<ChaosProxy, "requests" | "faults">;
  seconds: number;
}

/** A category that a `number` would round, different for each animal. */
export const categoryOf = (index: number) => 2n ** 62n + 1n + 1_000_003n * BigInt(index);

/**
 * Creates animals through a faulty proxy, changes one in ten and deletes one in ten of them, and compares the list of the
 * service with the result.
 *
 * @param onProgress receives the number of creations after each one.
 * @param send the `fetch` of the client.
 */
export async function createThroughChaos(
  service: ProductionService,
  count: number,
  onProgress: (created: number) => void = () => {},
  send: (url: string, init: RequestInit) => Promise<Response> = fetch,
): Promise<Outcome> {
  const proxy = await startChaosProxy(service.url, atRandom(FAULT_SHARE), LATE);
  const begin = performance.now();
  try {
    const sessions = await Promise.all(
      Array.from({ length: Math.ceil(count / CREATIONS_PER_KEY) }, async () =>
        new PetStore({
          baseUrl: new URL("/v1", proxy.url),
          apiKey: await grantProductionKey(service.worker),
          fetch: send,
          timeout: TIMEOUT,
          retry: RETRY,
        }).session(),
      ),
    );
    const [first] = sessions;
    if (first === undefined) throw new RangeError("The number of creations has to be at least 1.");

    // Ignores the animals of other runs.
    const prefix = `${crypto.randomUUID()} `;
    const ids = new BigInt64Array(count);
    const [wrongChanges, deleted]: [number[], Set<number>] = [[], new Set()];
    let [next, created, replayed] = [0, 0, 0];
    const work = async (): Promise<void> => {
      while (next < count) {
        const index = next++;
        const session = sessions[index % sessions.length] ?? first;
        const result = await session.pets.create({ name: `${prefix}${index}`, categoryId: categoryOf(index) });
        ids[index] = result.animal.id;
        if (result.replayed) replayed++;
        if (index % 10 === 1 && !(await isChangedOnce(session, result.animal.id, result.etag)))
          wrongChanges.push(index);
        if (index % 10 === 2) {
          await session.pets.delete(result.animal.id);
          deleted.add(index);
        }
        onProgress(++created);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));

    const found = await listAll(first, prefix);
    const { doubled, lost, rounded, remaining } = compare(found, ids, deleted);
    const seconds = (performance.now() - begin) / 1_000;
    return { doubled, lost, rounded, remaining, wrongChanges, replayed, proxy, seconds };
  } finally {
    await proxy.close();
  }
}

async function isChangedOnce(session: Session, id: bigint, etag: string): Promise<boolean> {
  const changed = await session.pets.update(id, { status: "pending" }, { ifMatch: etag });
  return etag === '"1"' && changed.etag === '"2"' && changed.animal.status === "pending";
}

/** Every animal in the service whose name has the prefix, by its number. */
export async function listAll(session: Session, prefix: string): Promise<Map<number, Animal[]>> {
  const found = new Map<number, Animal[]>();
  for (const status of ["available", "pending"] as const) {
    for await (const animal of session.pets.list({ status, limit: 100 })) {
      if (!animal.name.startsWith(prefix)) continue;
      const index = Number(animal.name.slice(prefix.length));
      found.set(index, [...(found.get(index) ?? []), animal]);
    }
  }
  return found;
}

export function compare(found: Map<number, Animal[]>, ids: BigInt64Array, deleted: Set<number>) {
  const indices = [...ids.keys()];
  const expected = indices.filter((index) => !deleted.has(index));
  return {
    doubled: indices.filter((index) => (found.get(index)?.length ?? 0) > 1),
    lost: expected.filter((index) => !found.has(index)),
    remaining: indices.filter((index) => deleted.has(index) && found.has(index)),
    rounded: expected.filter((index) =>
      found.get(index)?.some(({ id, categoryId }) => id !== ids[index] || categoryId !== categoryOf(index)),
    ),
  };
}
