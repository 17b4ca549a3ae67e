import { afterAll, beforeAll, expect, test } from "vitest";
import { createThroughChaos } from "../../scripts/client/creations.ts";
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
