import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { expect, test } from "vitest";
import { previousRelease } from "../../scripts/expand/previous-release.ts";
import { git } from "../../scripts/git.ts";
import { KEPT } from "./objects.ts";
import { picture } from "./picture.ts";
import { type Program, programAt } from "./program.ts";
import type { Worker } from "./service.ts";
import { fail, shrink } from "./shrink.ts";
import { type Answer, HOUR, MINUTE, type Post, SECOND, Stage } from "./stage.ts";
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
const releasedCode = async () => {
  const { commit } = previousRelease() ?? expect.unreachable("There is a release");
  return { commit, released: await programAt<Worker>(commit, "src/index.ts") };
};

test.skipIf(isShallow)("the code of the last release beside that of today keeps every guarantee", async () => {
  const { commit, released } = await releasedCode();
  const both = { ...code, versions: [...code.versions, { name: commit, program: released }] };
  const seed = randomInt(2 ** 31);
  const failure = await fail(both, document, { seed, steps: 800 });
  expect(
    failure && picture(failure),
    `npm run test:world -- --seed ${seed} --steps 800 --beside ${commit}`,
  ).toBeUndefined();
});

/** Lets webhooks come into every state that their objects keep, each at a host of its own. Returns their names, and rows that were deleted. */
async function fillStates(stage: Stage) {
  const hosts = ["failing", "limiting", "off", "reset", "replaying", "full", "deleted", "without order"] as const;
  const names = Object.fromEntries(
    hosts.map((host) => [host, stage.hook({ host: `${host.replace(" ", "-")}.shop.com` })]),
  ) as { [host in (typeof hosts)[number]]: string };
  const answers: { [name: string]: (post: Post) => Answer } = {};
  stage.answer = (post) => answers[post.name]?.(post) ?? [50, 204];
  const refuse = (name: string, first: number, end: number) => {
    answers[name] = ({ resource }) => [50, resource >= first && resource < end ? 404 : 204];
  };
  const update = (first: number, count: number) =>
    stage.change(Array.from({ length: count }, (_, index) => ["pet.updated", first + index]));
  const [first] = update(100, 600);
  await stage.pass(MINUTE);
  for (const name of Object.values(names)) await stage.call(name, "rotate");
  stage.set(names.reset, "enabled = 0");
  await stage.pass(MINUTE, 1);
  refuse(names["without order"], 0, 1);
  update(0, 1);
  update(0, 1);
  await stage.pass(HOUR + MINUTE, 0.2);
  answers[names.full] = ({ resource }) => [50, resource > 2_000 && resource % 2 === 0 ? 404 : 204];
  update(2_000, 2_400);
  refuse(names.replaying, 100, 700);
  await stage.call(names.replaying, "replay", first?.id.slice(4));
  await stage.pass(2 * MINUTE, 1);
  stage.rows("DELETE FROM events WHERE id <= 700");
  for (const name of [names.failing, names.deleted, names.off, names.reset]) answers[name] = () => [50, 500];
  answers[names.limiting] = () => [50, 503, "3600"];
  stage.set(names.reset, "enabled = 1");
  update(0, 4);
  await stage.pass(MINUTE, 0.5);
  stage.set(names.off, "enabled = 0");
  const rows = stage.rows("SELECT * FROM webhooks WHERE id || '-' || tag = ?", names.deleted);
  stage.delete(names.deleted);
  await stage.pass(MINUTE, 0.5);
  return { names, rows };
}

test.skipIf(isShallow).each(["to that of today", "back from it", "and that of today by turns"])(
  "the objects of webhooks go on from every state, with the code of the last release %s",
  { timeout: TIMEOUT * 5 },
  async (way) => {
    const { released } = await releasedCode();
    const [present] = code.versions.map(({ program }) => program) as [Program<Worker>];
    const isBack = way.startsWith("back");
    const stage = new Stage(isBack ? present : released, 0);
    const { names, rows } = await fillStates(stage);
    const all = Object.values(names);
    const kept = all.flatMap((name) => stage.objects.storageOf(name).kept(stage.now));
    expect(new Set(kept)).toEqual(new Set(Object.keys(KEPT)));
    const secrets = await Promise.all(all.map((name) => stage.call(name, "secret")));

    stage.answer = () => [50, 204];
    const next = isBack ? [released] : way.startsWith("and") ? [released, present] : [present];
    stage.release(...next);
    stage.set(names.off, "enabled = 1");
    const [row = {}] = rows;
    const values = Object.values(row) as (string | number)[];
    stage.rows(`INSERT INTO webhooks VALUES (${values.map(() => "?").join()})`, ...values);
    for (let turns = 0; turns < 20; turns++) {
      for (const name of all) if (turns === 10) stage.set(name, "url = url || 'moved'");
      await stage.pass(10 * SECOND, 0.5);
      stage.release(...next);
    }
    await stage.pass(MINUTE);
    for (const [host, name] of Object.entries(names)) {
      const taken = new Set(
        stage.posts.filter((post) => post.name === name && post.status === 204).map(({ id }) => id),
      );
      const failed = new Set(host === "full" ? stage.failed.map(({ event }) => event) : []);
      const wanted = host === "reset" ? [] : stage.changes.map(({ id }) => id);
      expect(new Set(wanted).difference(taken).difference(failed), host).toEqual(new Set());
      expect(await stage.call(name, "state"), host).toMatchObject({ health: "ok", pending: 0 });
    }
    expect(await Promise.all(all.map((name) => stage.call(name, "secret")))).toEqual(secrets);
    expect(stage.errors).toEqual([]);
    stage.close();
  },
);

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
  let failure: Awaited<ReturnType<typeof fail>>;
  // The first world mostly shows it. A new field or call draws other worlds, so many may follow.
  for (let seed = 1; failure === undefined && seed <= 40; seed++)
    failure = await fail(mutant, document, { seed, steps: 800, calm: WITHOUT_WEBHOOKS }, checker);
  expect(failure?.violation.checker).toBe(checker);
});
