import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { PetStore, PetStoreError } from "../../client/src/index.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { createBatchesThroughChaos } from "./chaos/batches.ts";
import { createThroughChaos } from "./chaos/creations.ts";
import { atRandom, startChaosProxy } from "./chaos/proxy.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// npm run test:client does the same with 10,000 animals and checks the memory.

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

test("500 animals are created through a proxy that fails: none is lost, doubled or rounded", async () => {
  const { proxy, replayed, seconds: _seconds, ...faults } = await createThroughChaos(service, 500);
  expect(faults).toEqual({ lost: [], doubled: [], rounded: [], wrongChanges: [], remaining: [] });
  // Some creations were replayed, because their first response did not arrive.
  expect(replayed).toBeGreaterThan(0);
  const spoiled = [...proxy.faults.values()];
  expect(Math.min(...spoiled)).toBeGreaterThan(0);
});

/** `BATCH_ANIMALS=100000 npm run test:load -- test/load/chaos.test.ts` sends more. */
const BATCH_ANIMALS = Number(process.env["BATCH_ANIMALS"] ?? 10_000);

test(`${BATCH_ANIMALS} animals are created in batches through this proxy: none is lost, doubled or rounded`, async () => {
  const { proxy, replayed, seconds, ...faults } = await createBatchesThroughChaos(service, BATCH_ANIMALS);
  console.log(`${BATCH_ANIMALS} animals, ${proxy.requests} requests, ${replayed} replays, ${seconds.toFixed(0)} s`);
  expect(faults).toEqual({ lost: [], doubled: [], rounded: [], scattered: [] });
  expect(replayed).toBeGreaterThan(0);
}, 3_600_000);

describe("through a proxy that loses responses", () => {
  /** Clients, each with its own key, and the proxy between them and the service. */
  async function clientsBehindProxy(count: number) {
    const proxy = await startChaosProxy(service.url, atRandom(0.35), 3_000);
    onTestFinished(() => proxy.close());
    return Promise.all(
      Array.from(
        { length: count },
        async () =>
          new PetStore({
            baseUrl: new URL("/v1", proxy.url),
            apiKey: await grantProductionKey(service.worker),
            timeout: 2_000,
            retry: { attempts: 25, firstPause: 10, longestPause: 1_000 },
          }),
      ),
    );
  }
  const isLost = (error: unknown) => error instanceof PetStoreError && error.code === "precondition_failed";

  test("each claim has one winner, who learns it", async () => {
    const clients = await clientsBehindProxy(16);
    const [first] = clients as [PetStore];
    const ids: bigint[] = [];
    for (let i = 0; i < 30; i++) ids.push((await first.pets.create({ name: "Rex", categoryId: 1n })).animal.id);
    // Claims of one animal are adjacent, so that they race.
    const claims = ids.flatMap((id) => Array.from({ length: 10 }, () => id));
    const winners: bigint[] = [];
    await Promise.all(
      clients.map(async ({ pets }) => {
        for (let id = claims.pop(); id !== undefined; id = claims.pop()) {
          try {
            const { etag } = await pets.update(id, { status: "pending" }, { ifMatch: '"1"' });
            expect(etag).toBe('"2"');
            winners.push(id);
          } catch (error) {
            if (!isLost(error)) throw error;
          }
        }
      }),
    );
    expect(winners.map(String).toSorted()).toEqual(ids.map(String).toSorted());
  });

  test("a counter that eight clients increment twelve times ends at 96", async () => {
    const clients = await clientsBehindProxy(8);
    const [first] = clients as [PetStore];
    const { id } = (await first.pets.create({ name: "0", categoryId: 1n })).animal;
    await Promise.all(
      clients.map(async (client) => {
        const { pets } = client.session();
        for (let left = 12; left > 0;) {
          const { animal, etag } = await pets.get(id);
          try {
            await pets.update(id, { name: String(Number(animal.name) + 1) }, { ifMatch: etag });
            left--;
          } catch (error) {
            if (!isLost(error)) throw error;
          }
        }
      }),
    );
    expect(await first.pets.get(id)).toMatchObject({ animal: { name: "96" }, etag: '"97"' });
  });
});

describe("the same test finds the faults of a worse client", () => {
  test("without idempotency keys, animals are created twice", async () => {
    const { doubled, replayed } = await createThroughChaos(service, 100, undefined, (url, init) => {
      const headers = new Headers(init.headers);
      if (init.method === "POST") headers.delete("Idempotency-Key");
      return fetch(url, { ...init, headers });
    });
    expect(doubled).not.toEqual([]);
    expect(replayed).toBe(0);
  });

  test("without idempotency keys, batches are created twice", async () => {
    const { doubled, replayed } = await createBatchesThroughChaos(service, 5_000, (url, init) => {
      const headers = new Headers(init.headers);
      headers.delete("Idempotency-Key");
      return fetch(url, { ...init, headers });
    });
    expect(doubled).not.toEqual([]);
    expect(replayed).toBe(0);
  });

  test("with JavaScript numbers, integers are rounded", async () => {
    const { rounded } = await createThroughChaos(service, 100, undefined, (url, init) =>
      fetch(url, typeof init.body === "string" ? { ...init, body: JSON.stringify(JSON.parse(init.body)) } : init),
    );
    expect(rounded).not.toEqual([]);
  });
});
