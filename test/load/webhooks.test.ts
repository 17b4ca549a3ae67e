import { json } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { expect, inject, test, vi } from "vitest";
import { serve } from "../built/serve.ts";
import { FragileService } from "./fragile-service.ts";

/** Kills of the service. `WEBHOOK_KILLS=30` is for a change of the engine. */
const KILLS = Number(process.env["WEBHOOK_KILLS"] ?? 3);
/** Milliseconds until a service that starts has delivered what waits: more to a slow receiver after each kill. The machine may be busy. */
const TIMEOUT = 300_000 + 20_000 * KILLS;
/** Deliveries that succeeded and come again after a kill, for each webhook, at most (docs/webhooks.md). */
const REPEATED = 54;
const TYPES = ["pet.created", "pet.updated"];

/** How a receiver answers: the status, or undefined for no answer at all. */
type Answer = (animal: number, version: number) => Promise<number | undefined>;

/** Refuses a part of the events, each once. */
function failsOnce(part: number): Answer {
  const seen = new Set<string>();
  return async (animal, version) => {
    const isNew = !seen.has(`${animal}:${version}`);
    seen.add(`${animal}:${version}`);
    return isNew && Math.random() < part ? 500 : 204;
  };
}

const RECEIVERS: { [name: string]: Answer } = {
  "good 1": async () => 204,
  "good 2": async () => 200,
  "good 3": async () => 204,
  "good 4": async () => 202,
  "slow 1": async () => wait(100, 204),
  "slow 2": async () => wait(400, 204),
  // The third attempt would come five minutes later.
  "fails at random 1": failsOnce(0.3),
  "fails at random 2": failsOnce(0.5),
  "refuses some animals": async (animal) => (animal % 10 === 0 ? 422 : 204),
  "hangs for some animals": async (animal) => (animal % 100 === 0 ? undefined : 204),
};

/** A receiver with the animal and the version of each event that it took, in their order. */
async function startReceiver(answer: Answer) {
  const taken: string[] = [];
  const url = await serve(async (request, response) => {
    const { data, version } = (await json(request)) as { data: { id: number }; version: number };
    const status = await answer(data.id, version);
    if (status === undefined) return;
    if (status < 300) taken.push(`${data.id}:${version}`);
    response.writeHead(status).end();
  });
  return { url, taken };
}

// Promise: numbers-of-webhooks
test(`${KILLS} kills lose no event of ten webhooks, and change no order`, { timeout: 2 * TIMEOUT }, async () => {
  await using service = await FragileService.start(inject("bundle"), 1, "local");
  const send = async (method: string, path: string, body: object): Promise<{ id: number }> => {
    const headers = { Authorization: `Bearer ${service.keys[0]}`, "Content-Type": "application/json" };
    const response = await fetch(new URL(path, service.url), { method, headers, body: JSON.stringify(body) });
    expect(response.ok).toBe(true);
    return (await response.json()) as { id: number };
  };
  const receivers = await Promise.all(
    Object.entries(RECEIVERS).map(async ([name, answer]) => {
      const { url, taken } = await startReceiver(answer);
      const { id } = await send("POST", "/v1/webhooks", { url, types: TYPES });
      return { name, id, taken };
    }),
  );
  await send("POST", `/v1/webhooks/${receivers[0]?.id}/rotate-secret`, {});

  const sent: [animal: number, version: number][] = [];
  for (let kills = 0; kills < KILLS; kills++) {
    // In batches, so that a kill comes while many deliveries run.
    for (let batch = 0; batch < 3; batch++) {
      const news = Array.from({ length: 40 }, () => ({ name: "Rex", categoryId: 1 }));
      const animals = (await send("POST", "/v1/pets/batch", news)) as unknown as { id: number }[];
      await send(
        "PATCH",
        "/v1/pets/batch",
        animals.map(({ id }) => ({ id, name: "Max" })),
      );
      for (const { id } of animals) sent.push([id, 1], [id, 2]);
    }
    await wait(Math.random() * 2_000);
    await service.kill();
    if (kills === 0) expect(service.storesWith("whsec_")).toEqual(["do"]);
    await service.start();
  }

  // No request wakes the objects: their alarms do.
  for (const { name, taken } of receivers) {
    const bad = { "refuses some animals": 10, "hangs for some animals": 100 }[name] ?? Infinity;
    const isWanted = ([animal]: [number, number]) => animal % bad !== 0;
    const wanted = sent.filter(isWanted).map(([animal, version]) => `${animal}:${version}`);
    const missing = () => new Set(wanted).difference(new Set(taken));
    await vi.waitFor(() => expect(missing(), name).toEqual(new Set()), { timeout: TIMEOUT, interval: 200 });
    const first = [...new Set(taken)];
    const isAhead = (one: string) => one.endsWith(":2") && first.indexOf(one) < first.indexOf(one.replace(":2", ":1"));
    expect(first.filter(isAhead), name).toEqual([]);
    expect(taken.length - first.length, name).toBeLessThanOrEqual(REPEATED * KILLS);
  }
  const counts = receivers.map(
    ({ name, taken }) => `${name}: ${taken.length} deliveries of ${new Set(taken).size} events`,
  );
  console.log(counts.join("\n"));
});
