import { setTimeout as wait } from "node:timers/promises";
import { PetStore } from "../../../client/src/index.ts";
import { grantProductionKey, type ProductionService } from "../../../scripts/production-service.ts";
import { MAX_BATCH } from "../../../src/pets/create-pets.ts";
import { categoryOf, compare, FAULT_SHARE, LATE, listAll, type Outcome, RETRY, TIMEOUT } from "./creations.ts";
import { atRandom, startChaosProxy } from "./proxy.ts";

/** Batches at the same time. */
const CONCURRENCY = 8;
/** A key has 1,000 requests a minute. */
const BATCHES_PER_KEY = 250;
/** Milliseconds before a retry. */
const PAUSE = 20;
/** Attempts at one batch. */
const MAX_ATTEMPTS = 50;

type BatchOutcome = Pick<Outcome, "lost" | "doubled" | "rounded" | "replayed" | "proxy" | "seconds"> & {
  /** Batches whose ids do not ascend one by one. */
  scattered: number[];
};

/**
 * Creates animals in batches through a faulty proxy, and compares the list of the service with them. It repeats each request under
 * its `Idempotency-Key` until a whole response arrives.
 *
 * @param send sends a request to the proxy.
 */
export async function createBatchesThroughChaos(
  service: ProductionService,
  count: number,
  send: (url: URL, init: RequestInit) => Promise<Response> = fetch,
): Promise<BatchOutcome> {
  const proxy = await startChaosProxy(service.url, atRandom(FAULT_SHARE), LATE);
  const begin = performance.now();
  try {
    const batches = Math.ceil(count / MAX_BATCH);
    const keys = await Promise.all(
      Array.from({ length: Math.ceil(batches / BATCHES_PER_KEY) }, () => grantProductionKey(service.worker)),
    );
    // Ignores the animals of other runs.
    const prefix = `${crypto.randomUUID()} `;
    const ids = new BigInt64Array(count);
    const scattered: number[] = [];
    let [next, replayed] = [0, 0];
    const work = async (): Promise<void> => {
      while (next < batches) {
        const batch = next++;
        const start = batch * MAX_BATCH;
        const indices = Array.from({ length: Math.min(MAX_BATCH, count - start) }, (_, place) => start + place);
        const animals = indices.map((index) => `{"name":"${prefix}${index}","categoryId":${categoryOf(index)}}`);
        const key = keys[batch % keys.length] ?? "";
        const created = await createOnce(`[${animals.join()}]`, key, `${prefix.trim()}-${batch}`);
        if (created.replayed) replayed++;
        ids.set(created.ids, start);
        if (created.ids.some((id, place) => id !== (created.ids[0] ?? 0n) + BigInt(place))) scattered.push(batch);
      }
    };
    await Promise.all(Array.from({ length: CONCURRENCY }, work));

    const apiKey = await grantProductionKey(service.worker);
    const baseUrl = new URL("/v1", proxy.url);
    const reader = new PetStore({ baseUrl, apiKey, timeout: TIMEOUT, retry: RETRY }).session();
    const { doubled, lost, rounded } = compare(await listAll(reader, prefix), ids, new Set());
    const seconds = (performance.now() - begin) / 1_000;
    return { doubled, lost, rounded, scattered, replayed, proxy, seconds };
  } finally {
    await proxy.close();
  }

  async function createOnce(body: string, key: string, idempotencyKey: string) {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const created = await tryToCreate(body, key, idempotencyKey);
      if (created !== undefined) return created;
      await wait(PAUSE);
    }
    throw new Error(`No response to a batch after ${MAX_ATTEMPTS} attempts`);
  }

  /** The ids of the animals. Undefined when no whole response arrives in time, or one that says to try again. */
  async function tryToCreate(body: string, key: string, idempotencyKey: string) {
    try {
      const response = await send(new URL("/v1/pets/batch", proxy.url), {
        method: "POST",
        headers: {
          Authorization: `Bearer ${key}`,
          "Content-Type": "application/json",
          "Idempotency-Key": idempotencyKey,
        },
        body,
        signal: AbortSignal.timeout(TIMEOUT),
      });
      const animals = (await response.json()) as { id: number }[];
      if (response.status !== 201) return undefined;
      const replayed = response.headers.get("Idempotency-Replayed") === "true";
      return { ids: animals.map(({ id }) => BigInt(id)), replayed };
    } catch {
      return undefined;
    }
  }
}
