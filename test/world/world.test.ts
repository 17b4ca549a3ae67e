import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { expect, test } from "vitest";
import { previousRelease } from "../../scripts/expand/previous-release.ts";
import { git } from "../../scripts/git.ts";
import { picture } from "./picture.ts";
import { programAt } from "./program.ts";
import type { Worker } from "./service.ts";
import { fail, shrink } from "./shrink.ts";
import { presentCode, runWorld } from "./world.ts";

// The service in simulated worlds (docs/decisions/simulated-world.md). npm run test:world runs more of them.

const ROOT = join(import.meta.dirname, "../..");
const document = JSON.parse(readFileSync(join(ROOT, "public/openapi.json"), "utf8")) as OpenAPIObject;
const code = await presentCode();
/** `.ci/run all` runs 50, some 140,000 requests. */
const WORLDS = Number(process.env["WORLDS"] ?? 5);
/** Milliseconds for each, on a busy machine. */
const TIMEOUT = 60_000;
const STEPS = 1_500;

test("worlds with new seeds keep every guarantee", { timeout: WORLDS * TIMEOUT }, async () => {
  const first = randomInt(2 ** 31);
  console.log(`npm run test:world -- --seed ${first} --worlds ${WORLDS} --steps ${STEPS}`);
  for (let seed = first; seed < first + WORLDS; seed++) {
    const failure = await fail(code, document, { seed, steps: STEPS });
    expect(failure && picture(await shrink(code, document, failure)), `seed ${seed}`).toBeUndefined();
  }
});

const isShallow = git("rev-parse", "--is-shallow-repository") === "true";

test.skipIf(isShallow)("the code of the last release beside that of today keeps every guarantee", async () => {
  const { commit } = previousRelease() ?? expect.unreachable("There is a release");
  const released = await programAt<Worker>(commit, "src/index.ts");
  const both = { ...code, versions: [...code.versions, { name: commit, program: released }] };
  const seed = randomInt(2 ** 31);
  const failure = await fail(both, document, { seed, steps: 800 });
  expect(
    failure && picture(failure),
    `npm run test:world -- --seed ${seed} --steps 800 --beside ${commit}`,
  ).toBeUndefined();
});

test("a seed has one history", async () => {
  const linesOf = async () => [...(await runWorld(code, { seed: 7, steps: 400 })).history.lines()];
  const lines = await linesOf();
  expect(lines.length).toBeGreaterThan(1_000);
  expect(await linesOf()).toEqual(lines);
});

/** They take time at the end of each world. */
const WITHOUT_WEBHOOKS = new Set(["a webhook is managed"]);

test("a session that ignores its bookmark is found, in a history that is short", async () => {
  const mutant = await presentCode(["db/session.ts", "this.#start = start ??", "this.#start ="]);
  const plan = { seed: 1, steps: 300, calm: WITHOUT_WEBHOOKS };
  const failure = await fail(mutant, document, plan, "sessionsNeverGoBack");
  const shortest = failure && (await shrink(mutant, document, failure, 60));
  expect(shortest?.violation.checker).toBe("sessionsNeverGoBack");
  expect(shortest?.plan.only?.size).toBeLessThan(10);
  expect(shortest && picture(shortest)).toContain("sessionsNeverGoBack: The session had reached");
});

test("a session that does not repeat a read whose replica lacks a migration is found", async () => {
  const mutant = await presentCode(["db/session.ts", "lacksSchema(cause)", "false"]);
  const failure = await fail(mutant, document, { seed: 2, steps: 300, calm: WITHOUT_WEBHOOKS });
  expect(failure?.violation).toMatchObject({
    checker: "failuresHaveCauses",
    message: "The client meets a replica that lacks a migration.",
  });
});

test.each([
  ["a call that loses its key", "mcp/call.ts", 'headers["Idempotency-Key"] = key;', ";", "oneAfterAnother"],
  [
    "a call that reads from a replica",
    "mcp/endpoint.ts",
    'READS: "primary"',
    'READS: "nearest"',
    "agentsSeeEveryWrite",
  ],
  [
    "a search that takes a word of the index",
    "pets/search.ts",
    "needles.every((needle) => name.includes(needle))",
    "true",
    "oneAfterAnother",
  ],
  [
    "an index that skips an event",
    "pets/index-names.ts",
    "WHERE id > ? AND id <= ?",
    "WHERE id > ? + 1 AND id <= ?",
    "oneAfterAnother",
  ],
  [
    "an order of another customer that is passed on",
    "live/audience.ts",
    "item.customer === customer",
    "true",
    "listenersHearTheirs",
  ],
  [
    "a page that is left out after a reconnect",
    "live/hub.ts",
    "pagesOf(seen, place,",
    "pagesOf([], place,",
    "listenersHearTheirs",
  ],
])("%s is found", async (_bug, file, text, other, checker) => {
  const mutant = await presentCode([file, text, other]);
  const runs = [1, 2, 3, 4]
    .values()
    .map((seed) => fail(mutant, document, { seed, steps: 800, calm: WITHOUT_WEBHOOKS }, checker));
  let failure: Awaited<ReturnType<typeof fail>>;
  for (const run of runs) if ((failure = await run) !== undefined) break;
  expect(failure?.violation.checker).toBe(checker);
});
