import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { spread } from "../../../bench/spread.ts";
import { checkersOf } from "../../world/checkers.ts";
import { History } from "../../world/history.ts";
import { INVARIANTS } from "../../world/invariants.ts";
import type { Outcome } from "../../world/world.ts";
import { atRandom, startChaosProxy } from "../chaos/proxy.ts";
import { FragileService } from "../fragile-service.ts";
import { contradictions, type Stored } from "./checker.ts";
import { runPrograms, type Sent } from "./programs.ts";
import { Trouble, TROUBLEMAKERS } from "./trouble.ts";

/** Enough that no key meets its limit of a thousand requests a minute. */
const KEYS = 32;
const FAULT_SHARE = 0.15;
/** Milliseconds that the client waits for a response. */
const [PATIENCE, SHORT_PATIENCE] = [60_000, 2_000];
/** Milliseconds between a start of the service and its next kill, at most. */
const LIFE = 4_000;
/** What has to happen, or else a run proves nothing. */
const NEEDED = ["POST 201", "POST 409", "PATCH 200", "PATCH 412", "DELETE 204", "DELETE 409", "GET 200", "GET 304"];

interface Report {
  lines: string[];
  violations: string[];
}

/**
 * Loads the service in two parts: for so many seconds beside hostile connections, which must cost no honest client its response, and
 * then behind a proxy that fails, until the service was killed so many times. Compares every response with the database.
 *
 * @param bundle the folder of the bundle.
 */
export async function stress(bundle: string, seed: number, seconds: number, kills: number): Promise<Report> {
  await using service = await FragileService.start(bundle, KEYS);
  const [honest, hostile] = [service.keys.slice(KEYS / 2), service.keys.slice(0, KEYS / 2)];
  const trouble = new Trouble(service.url, hostile);
  const memory: number[] = [];
  const sampling = setInterval(() => memory.push(service.memory()), 1_000);
  const end = performance.now() + seconds * 1_000;
  const [calm] = await Promise.all([
    runPrograms(service.url, honest, { seed, isProxied: false, timeout: PATIENCE }, () => performance.now() > end),
    wait(seconds * 200).then(() => trouble.make(seconds * 600)),
  ]);
  clearInterval(sampling);

  const proxy = await startChaosProxy(service.url, atRandom(FAULT_SHARE), 1.5 * SHORT_PATIENCE);
  let killed = 0;
  const killing = (async () => {
    while (killed < kills) {
      await wait((0.5 + Math.random() / 2) * LIFE);
      await service.restart();
      killed++;
    }
    await wait(LIFE / 2);
    return true;
  })();
  let isOver = false;
  void killing.finally(() => (isOver = true));
  const options = { seed: seed + 1, isProxied: true, timeout: SHORT_PATIENCE };
  const shaken = await runPrograms(proxy.url, honest, options, () => isOver);
  await killing;
  await proxy.close();
  await service.kill();

  const sent = [...calm, ...shaken];
  const figures = Map.groupBy(sent, ({ method, status }) => (status === undefined ? "lost" : `${method} ${status}`));
  const latency = spread(calm.map(({ sentAt, receivedAt = Infinity }) => receivedAt - sentAt));
  const replayed = sent.filter(({ responseHeaders }) => responseHeaders?.has("Idempotency-Replayed")).length;
  const at = (share: number) => memory[Math.floor((memory.length - 1) * share)]?.toFixed(0);
  return {
    lines: [
      `${sent.length} requests: ${[...figures].map(([what, all]) => `${all.length} ${what}`).join(", ")}`,
      `${killed} kills, ${replayed} replays, ${[...proxy.faults.values()].reduce((sum, count) => sum + count)} faults of the proxy`,
      ...[...trouble.endings].map(([name, endings]) => `${name}: ${JSON.stringify(Object.fromEntries(endings))}`),
      `beside hostile connections: p50 ${latency.median.toFixed(0)} ms, p99 ${latency.p99.toFixed(0)} ms`,
      `memory of workerd: ${at(0)} MiB at the start, ${at(0.5)} in the middle, ${at(1)} at the end`,
    ],
    violations: [
      ...findViolations(service, sent),
      ...NEEDED.filter((event) => !figures.has(event)).map((event) => `${event} never happened.`),
      ...Object.keys(TROUBLEMAKERS)
        .filter((name) => !trouble.endings.has(name))
        .map((name) => `No ${name}.`),
      ...(replayed > 0 ? [] : ["No creation was replayed."]),
    ],
  };
}

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
