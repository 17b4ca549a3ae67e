import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createThroughChaos } from "./chaos/creations.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// npm run test:client does the same with 10,000 animals, and looks at the memory.

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

test("500 animals are created through a proxy that fails: none is lost, doubled or rounded", async () => {
  const { proxy, replayed, seconds: _seconds, ...faults } = await createThroughChaos(service, 500);
  expect(faults).toEqual({ lost: [], doubled: [], rounded: [], wrongChanges: [], remaining: [] });
  // The service has answered creations whose first response did not arrive.
  expect(replayed).toBeGreaterThan(0);
  const spoiled = [...proxy.faults.values()];
  expect(Math.min(...spoiled)).toBeGreaterThan(0);
});

describe("the same finds the faults of a worse client", () => {
  test("without idempotency keys, animals are doubled", async () => {
    const { doubled, replayed } = await createThroughChaos(service, 100, undefined, (url, init) => {
      const headers = new Headers(init.headers);
      headers.delete("Idempotency-Key");
      return fetch(url, { ...init, headers });
    });
    expect(doubled).not.toEqual([]);
    expect(replayed).toBe(0);
  });

  test("with numbers of JavaScript, integers are rounded", async () => {
    const { rounded } = await createThroughChaos(service, 100, undefined, (url, init) =>
      fetch(url, typeof init.body === "string" ? { ...init, body: JSON.stringify(JSON.parse(init.body)) } : init),
    );
    expect(rounded).not.toEqual([]);
  });
});
