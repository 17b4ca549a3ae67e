import { afterAll, beforeAll, expect, test } from "vitest";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";
import { Client } from "./sale/client.ts";
import { meetEveryResponse, runSale } from "./sale/customers.ts";
import { findViolations } from "./sale/invariants.ts";
import { Journal } from "./sale/journal.ts";
import { readDatabase, readService } from "./sale/snapshot.ts";

// `npm run test:sale` does the same for longer and kills the service during the sale.

/** Enough that no key meets its limit of a thousand requests a minute. */
const KEYS = 10;

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

test("in a crowd, no animal is sold twice, and the state agrees with every response", async () => {
  const keys = await Promise.all(Array.from({ length: KEYS }, () => grantProductionKey(service.worker)));
  const clients = keys.map((key) => new Client(async () => service.url, key));
  const journal = new Journal();
  await runSale({ animals: 40, placements: 400, customersPerClient: 10 }, clients, journal);
  // The crowd acts at random. These customers make sure that each rule has something to judge.
  for (const client of clients) await meetEveryResponse(client, journal);

  const { DB } = await service.worker.getEnv();
  expect(findViolations(journal, await readDatabase(DB), await readService(clients))).toEqual([]);
  console.log(journal.figures);
  expect(journal.figures).toMatchObject({
    "place: 201": expect.any(Number),
    "place: pet_not_available": expect.any(Number),
    "cancel: 204": expect.any(Number),
    "ship: 200": expect.any(Number),
    "patch: 200": expect.any(Number),
    "patch: pet_on_order": expect.any(Number),
  });
});
