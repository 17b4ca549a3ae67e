import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { expect, inject, test } from "vitest";
import { checkersOf } from "../world/checkers.ts";
import { History } from "../world/history.ts";
import { INVARIANTS } from "../world/invariants.ts";
import type { Outcome } from "../world/world.ts";
import { atRandom, startChaosProxy } from "./chaos/proxy.ts";
import { FragileService } from "./fragile-service.ts";
import { contradictions, type Stored } from "./stress/checker.ts";
import { runPrograms, type Sent } from "./stress/programs.ts";

/** `npm run test:stress` goes on for longer. */
const SECONDS = Number(process.env["STRESS_SECONDS"] ?? 20);
const KILLS = Number(process.env["STRESS_KILLS"] ?? 3);
const SEED = Number(process.env["STRESS_SEED"] ?? randomInt(2 ** 31));
/** Enough that no key meets its limit of a thousand requests a minute. */
const KEYS = 16;
const FAULT_SHARE = 0.15;
/** Milliseconds that the client waits for a response. */
const [PATIENCE, SHORT_PATIENCE] = [60_000, 2_000];
/** Milliseconds between a start of the service and its next kill, at most. */
const LIFE = 4_000;
/** Milliseconds. */
const TIMEOUT = 300_000 + 2_000 * SECONDS + 30_000 * KILLS;
/** What has to happen, or else a run proves nothing. */
const NEEDED = ["POST 201", "POST 409", "PATCH 200", "PATCH 412", "DELETE 204", "DELETE 409", "GET 200", "GET 304"];

// Promise: 201-is-durable, created-once, faults
test(`every response agrees with the database, also after ${KILLS} kills`, { timeout: TIMEOUT }, async () => {
  await using service = await FragileService.start(inject("bundle"), KEYS);
  const { keys } = service;
  // Without faults, no response may be lost.
  const end = performance.now() + SECONDS * 1_000;
  const isEnded = () => performance.now() > end;
  const calm = await runPrograms(service.url, keys, { seed: SEED, isProxied: false, timeout: PATIENCE }, isEnded);

  const proxy = await startChaosProxy(service.url, atRandom(FAULT_SHARE), 1.5 * SHORT_PATIENCE);
  let isOver = false;
  const killing = (async () => {
    while (service.kills < KILLS) {
      await wait((0.5 + Math.random() / 2) * LIFE);
      await service.restart();
    }
    await wait(LIFE / 2);
  })().finally(() => (isOver = true));
  const options = { seed: SEED + 1, isProxied: true, timeout: SHORT_PATIENCE };
  const shaken = await runPrograms(proxy.url, keys, options, () => isOver);
  await killing;
  await proxy.close();
  await service.kill();

  const sent = [...calm, ...shaken];
  const figures = Map.groupBy(sent, ({ method, status }) => (status === undefined ? "lost" : `${method} ${status}`));
  const replayed = sent.filter(({ responseHeaders }) => responseHeaders?.has("Idempotency-Replayed"));
  console.log(
    `seed ${SEED}, ${replayed.length} replays`,
    [...figures].map(([what, all]) => `${all.length} ${what}`).join(", "),
  );
  expect([...findViolations(service, sent)].slice(0, 10)).toEqual([]);
  expect(NEEDED.filter((event) => !figures.has(event))).toEqual([]);
  expect(replayed).not.toEqual([]);
});

/** The contradictions between the responses and the database, whose service is stopped. */
function findViolations(service: FragileService, sent: Sent[]): string[] {
  const rowsOf = (table: string) => service.read(`SELECT id, version FROM ${table}`) as Stored["rows"][string];
  const stored: Stored = {
    events: service.read(
      "SELECT type, version, data FROM events WHERE version > 0 ORDER BY id",
    ) as unknown as Stored["events"],
    keys: service.read("SELECT idempotency_key AS key, response FROM idempotency_keys") as unknown as Stored["keys"],
    rows: { pet: rowsOf("pets"), order: rowsOf("orders"), category: rowsOf("categories") },
  };
  const document = JSON.parse(readFileSync("public/openapi.json", "utf8")) as OpenAPIObject;
  const history = new History();
  history.exchanges.push(...sent);
  const { responsesFit, walksSeeEverything } = checkersOf(document);
  return [
    ...contradictions(sent, stored),
    ...[responsesFit, walksSeeEverything].flatMap((check) =>
      [...(check?.({ history } as Outcome) ?? [])].map(({ message, exchange }) => `${exchange?.path}: ${message}`),
    ),
    ...Object.entries(INVARIANTS).flatMap(([sentence, sql]) =>
      service.read(sql).map(({ id }) => `${sentence}, but not for ${String(id)}.`),
    ),
  ];
}
