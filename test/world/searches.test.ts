import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { copyDatabase } from "../../ops/backup/copy.ts";
import type { Database as Connection, Row } from "../../ops/backup/connection.ts";
import { restoreDatabase } from "../../ops/backup/restore.ts";
import { SCRIPTS } from "../../register/scripts.ts";
import { RECORD } from "../../scripts/bundles.ts";
import { previousRelease } from "../../scripts/expand/previous-release.ts";
import { git } from "../../scripts/git.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { MAX_BATCH } from "../../src/pets/batch.ts";
import { MAX_CHANGES } from "../../src/pets/search.ts";
import { isFound } from "../model/search.ts";
import { Clock } from "./clock.ts";
import { d1Of, pathTo } from "./d1.ts";
import { Database } from "./database.ts";
import { programAt, programOf } from "./program.ts";
import { Random } from "./random.ts";
import type { Worker } from "./service.ts";
import type { Statement } from "./sqlite.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

/** `ANIMALS=100000` judges all queries in each state of the index. */
const ANIMALS = Number(process.env["ANIMALS"] ?? 1_000);
const QUERIES = 300;
/** Different names. The loop compares each of them once with each text. */
const NAMES = ANIMALS > 1_000 ? 3_000 : 400;
/** Pages of a search that are judged. */
const PAGES = 3;
const HOUR = 3_600_000;
const NAME = "petstore-searches";

interface Animal {
  id: number;
  name: string;
  categoryId: number;
  status: string;
}

const random = new Random(1, "searches");
const scripts = Object.values(SCRIPTS).map(([name, ...texts]) => ({ words: name.split(" "), texts }));
const NUMBERS = Array.from({ length: 60 }, (_, index) => String(index));

/** Words of one script, some with a number, and some that are too long for SQL to compare. */
function newName(): string {
  const { words } = random.pick(scripts);
  const length = random.weighted({ 1: 3, 2: 5, 3: 3, 30: 1 });
  const parts = Array.from({ length: Number(length) }, () => random.pick(random.chance(0.3) ? NUMBERS : words));
  return parts.join(random.pick([" ", "-", ""])).slice(0, 250);
}
const names = Array.from({ length: NAMES }, newName);
const queries = Array.from({ length: QUERIES }, (_, index) => {
  const { words, texts } = scripts[index % scripts.length] as (typeof scripts)[number];
  const begun = (text: string) => Array.from(text).slice(0, random.between(1, 5)).join("");
  return random.pick([
    random.pick(texts),
    begun(random.pick(words)),
    `${begun(random.pick(words))} ${begun(random.pick(words))}`,
    `${random.pick(NUMBERS)} ${begun(random.pick(words))}`,
    `${random.pick(words)}${random.pick(words)}`,
    begun(random.pick(names)),
    random.pick(names).slice(0, 255),
  ]);
});
/** The names that a plain loop finds. */
const found = new Map<string, Set<string>>();
function namesFor(q: string): Set<string> {
  if (!found.has(q)) found.set(q, new Set(names.filter((name) => isFound(name, q))));
  return found.get(q) as Set<string>;
}

/** The code of today and that of the last release. */
type Version = "present" | "released";
const either = () => random.pick<Version>(["present", "released"]);

/** Both versions on one database. */
async function startBoth(commit: string) {
  const clock = new Clock(Date.parse("2026-11-22T00:00:00Z"));
  const database = new Database(clock, random, 0);
  const surroundings = { clock, random, skew: () => 0, isAlive: () => true, onError: () => {} };
  const programs = { present: programOf<Worker>("src/index.ts"), released: programAt<Worker>(commit, "src/index.ts") };
  const workers = {
    present: (await programs.present)(surroundings).default,
    released: (await programs.released)(surroundings).default,
  };
  const key = generateKey("production");
  const bindings = () => ({
    ENVIRONMENT: "production",
    EVENT_DAYS: "7",
    LOG_SUCCESS_SHARE: "0",
    DB: d1Of(pathTo(database, clock, 0)),
    API_KEYS: { get: async () => RECORD },
    RATE_LIMITER: { limit: async () => ({ success: true }) },
  });
  /** Lets the time go on until something has happened. */
  async function until<Result>(happens: Promise<Result>): Promise<Result> {
    const state = { isOver: false };
    const over = happens.finally(() => (state.isOver = true));
    while (!state.isOver) await clock.run();
    return over;
  }
  return {
    clock,
    database,
    send: async (version: Version, method: string, address: string, body?: object) => {
      const text = body && JSON.stringify(body);
      const length = text === undefined ? {} : { "Content-Length": String(Buffer.byteLength(text)) };
      const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...length };
      const request = new Request(`https://petstore.example${address}`, { method, headers, body: text ?? null });
      const fetched = workers[version].fetch(request, bindings(), { waitUntil: () => {} });
      const response = await until(Promise.resolve(fetched));
      const answer = await response.text();
      expect([200, 201, 204], `${method} ${address}: ${answer}`).toContain(response.status);
      const next = /<[^>]*(\/v1\/[^>]+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
      return { items: (answer === "" ? [] : JSON.parse(answer)) as Animal[], next };
    },
    runJob: (version: Version) => until(workers[version].scheduled({}, bindings())),
  };
}

const isShallow = git("rev-parse", "--is-shallow-repository") === "true";
const TIMEOUT = ANIMALS * 60 + 120_000;

// Promise: searches-find-every-script
test.skipIf(isShallow)("a search is exact in every state of the index", { timeout: TIMEOUT }, async () => {
  const { commit } = previousRelease() ?? expect.unreachable("There is a release");
  const { clock, database, send, runJob } = await startBoth(commit);
  onTestFinished(() => database.close());
  let animals = new Map<number, Animal>();
  let judged = 0;

  /** Compares some searches with a plain loop over all animals. */
  async function judge(state: string, isCurrent: boolean): Promise<void> {
    for (let left = ANIMALS > 1_000 ? QUERIES : QUERIES / 10; left > 0; left--) {
      const q = queries[judged++ % QUERIES] as string;
      const filter = random.weighted({ "": 3, "&status=sold": 1, "&categoryId=2": 1, "&categoryId=2&status=sold": 1 });
      const [version, sort] = [either(), random.pick(["id", "-id"])];
      const all = [...animals.values()]
        .filter(({ name }) => namesFor(q).has(name))
        .filter(({ status }) => !/status/.test(filter) || status === "sold")
        .filter(({ categoryId }) => !/category/.test(filter) || categoryId === 2)
        .toSorted((a, b) => (sort === "id" ? a.id - b.id : b.id - a.id));
      const items: Animal[] = [];
      let path: string | undefined = `/v1/pets?q=${encodeURIComponent(q)}${filter}&sort=${sort}&limit=100`;
      for (let page = 0; page < PAGES && path !== undefined; page++) {
        const answer = await send(version, "GET", path);
        items.push(...answer.items);
        path = answer.next;
        const mayBeEmpty = path === undefined || version === "released" || !isCurrent || filter !== "";
        expect(mayBeEmpty || answer.items.length > 0, `${state}: an empty page for ${q}`).toBe(true);
      }
      const told = path === undefined ? all : all.slice(0, items.length);
      expect(items, `${state}, ${version}: ${q}${filter} ${sort}`).toEqual(told);
    }
  }

  function hear(changed: Animal[]): void {
    for (const { id, name, categoryId, status } of changed) animals.set(id, { id, name, categoryId, status });
  }
  async function createAll(count: number): Promise<void> {
    for (let left = count; left > 0; left -= MAX_BATCH) {
      const body = Array.from({ length: Math.min(left, MAX_BATCH) }, () => ({
        name: random.pick(names),
        categoryId: random.between(1, 3),
        status: random.pick(["available", "sold"]),
      }));
      hear((await send(either(), "POST", "/v1/pets/batch", body)).items);
    }
  }
  /** Changes animals in batches, most of them in their names, and deletes some. */
  async function change(batches: number, choose = either): Promise<void> {
    for (let left = batches; left > 0; left--) {
      const ids = [...animals.keys()];
      const several = new Set(Array.from({ length: MAX_BATCH }, () => random.pick(ids)));
      const body = [...several].map((id) => ({
        id,
        ...(random.chance(0.8) ? { name: random.pick(names) } : { status: "available" }),
      }));
      hear((await send(choose(), "PATCH", "/v1/pets/batch", body)).items);
      const gone = random.pick(ids);
      await send(choose(), "DELETE", `/v1/pets/${gone}`);
      animals.delete(gone);
      clock.now += 2_000;
    }
  }
  async function runLater(): Promise<void> {
    clock.now += HOUR;
    await runJob("present");
  }

  await createAll(ANIMALS);
  await judge("before the index", false);
  await runJob("released");
  await judge("after a run of the last release", false);
  await Promise.all([runJob("present"), judge("while it is filled", false)]);
  await judge("filled", true);
  await change(5);
  await judge("behind", true);

  const folder = mkdtempSync(join(tmpdir(), "petstore-searches-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const runAll = (...statements: Statement[]) =>
    database.onPrimary(statements).results.map(({ rows }) => rows as Row[]);
  const connection: Connection = {
    name: NAME,
    run: async (statements) => runAll(...statements.map((sql) => ({ sql, values: [] }))),
    load: async (sql, parameter) => void runAll({ sql, values: [parameter] }),
    close: async () => {},
  };
  const terminal = { print: () => {}, say: () => {}, read: async () => "" };
  await copyDatabase(connection, join(folder, "backup"), terminal);
  const copied = new Map(animals);

  await change(Math.ceil(MAX_CHANGES / MAX_BATCH) + 2, () => "released");
  await judge("far behind", false);
  await runLater();
  await judge("followed", true);
  await createAll(ANIMALS / 10);
  await judge("behind by new animals", true);
  animals = copied;
  await restoreDatabase(connection, join(folder, "backup"), { overwrite: NAME }, terminal);
  await judge("restored", false);
  await runLater();
  await change(1);
  await judge("filled again", true);
  expect(judged).toBeGreaterThanOrEqual(QUERIES);
});
