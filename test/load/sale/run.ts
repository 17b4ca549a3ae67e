// npm run test:sale: sells 200 animals to many concurrent clients through the production bundle, kills the service with SIGKILL
// at random moments, and restarts it on the same storage. Five rounds, each with new storage. Fails when an animal is sold twice,
// or when the final state contradicts the responses.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { useLocalState } from "../../../scripts/local-state.ts";
import { applyMigrations } from "../../../scripts/migrations.ts";
import { grantProductionKey } from "../../../scripts/production-service.ts";
import { buildBundle } from "../../../scripts/wrangler.ts";
import { startKillableService } from "../killable-service.ts";
import { Client } from "./client.ts";
import { runSale, type Sale } from "./customers.ts";
import { findViolations } from "./invariants.ts";
import { Journal } from "./journal.ts";
import { readDatabase, readService } from "./snapshot.ts";

const ROUNDS = 5;
const KILLS = 3;
const SALE: Sale = { animals: 200, placements: 2_000, customersPerClient: 4 };
/** Enough that no key meets its limit of a thousand requests a minute. */
const KEYS = 25;
/** Milliseconds. */
const TIME_LIMIT = 15 * 60_000;
/** Violations to print. */
const SHOWN = 10;

setTimeout(() => {
  console.error(`Not done after ${TIME_LIMIT / 60_000} minutes.`);
  process.exit(1);
}, TIME_LIMIT).unref();

const bundle = join(await buildBundle("production"), "index.js");
let failed = false;
for (let round = 1; round <= ROUNDS; round++) {
  const state = mkdtempSync(join(tmpdir(), "petstore-sale-"));
  try {
    const { journal, violations } = await sell(state);
    console.log(`Round ${round}: ${JSON.stringify(journal.figures)}, ${violations.length} violations.`);
    for (const violation of violations.slice(0, SHOWN)) console.error(violation);
    failed ||= violations.length > 0;
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}
console.log(failed ? "FAILED" : "No animal was sold twice, and every response agrees with the final state.");
process.exit(failed ? 1 : 0);

async function sell(state: string) {
  const keys = await useLocalState(state, "production", async (bindings) => {
    await applyMigrations(bindings.DB, join(import.meta.dirname, "../../../drizzle"));
    const worker = { getEnv: async () => bindings };
    return Promise.all(Array.from({ length: KEYS }, () => grantProductionKey(worker)));
  });
  const start = () => startKillableService(state, bundle, "--no-bundle", "--env=production");
  let running = start();
  await running;
  const address = async () => new URL((await running).url);

  const clients = keys.map((key) => new Client(address, key));

  const journal = new Journal();
  const sale = runSale(SALE, clients, journal);
  const kills = (async () => {
    for (const after of killTimes()) {
      while (journal.placements.length < after) await wait(5);
      const ended = (await running).kill();
      running = ended.then(start);
      journal.count("kills");
      await running;
    }
  })();
  await Promise.all([sale, kills]);

  const service = await readService(clients);
  await (await running).kill();
  const database = await useLocalState(state, "production", ({ DB }) => readDatabase(DB));
  const violations = findViolations(journal, database, service);
  return { journal, violations: [...violations, ...whatNeverHappened(journal)] };
}

/** The number of placements before each kill. */
function killTimes(): number[] {
  const part = SALE.placements / (KILLS + 1);
  return Array.from({ length: KILLS }, (_, kill) => Math.floor((kill + 0.5 + Math.random()) * part));
}

/** A round without one of these proves nothing. */
function whatNeverHappened({ figures }: Journal): string[] {
  const needed = ["place: 201", "place: pet_not_available", "place: lost", "cancel: 204", "ship: 200", "patch: 200"];
  return needed.filter((event) => figures[event] === undefined).map((event) => `${event} never happened.`);
}
