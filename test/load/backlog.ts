import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { FragileService } from "./fragile-service.ts";

/** Milliseconds without a delivery after which none comes any more. An alarm may take a minute. */
const SILENCE = 90_000;

/**
 * How fast the production bundle in workerd works off events that came while it was down.
 *
 * @param count events that the receiver wants.
 * @param others events before them that it does not want.
 * @param after milliseconds until the receiver responds.
 * @returns seconds from the start until the first delivery, and from it until the last one. Infinity when none came for long.
 */
export async function workOff(
  bundle: string,
  { count, others, after }: { count: number; others: number; after: number },
): Promise<{ first: number; rest: number }> {
  let received: number[] = [];
  const server = createServer(async (request, response) => {
    await text(request);
    received.push(performance.now());
    if (after > 0) await wait(after);
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const arrive = async (least: number) => {
    const begin = performance.now();
    const isSilent = () => performance.now() - Math.max(begin, received.at(-1) ?? 0) > SILENCE;
    while (received.length < least && !isSilent()) await wait(10);
  };
  await using service = await FragileService.start(bundle, 1, "local");
  const send = async (path: string, body: object) => {
    const headers = { Authorization: `Bearer ${service.keys[0]}`, "Content-Type": "application/json" };
    const response = await fetch(new URL(path, service.url), { method: "POST", headers, body: JSON.stringify(body) });
    if (!response.ok) throw new Error(await response.text());
  };
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  await send("/v1/webhooks", { url, types: ["pet.created"] });
  // The first delivery shows that the receiver works.
  await send("/v1/pets", { name: "Rex", categoryId: 1 });
  await arrive(1);
  await service.kill();
  service.write(
    `INSERT INTO events (tag, type, version, data, created_at)
     WITH numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${others + count})
     SELECT random() & 4294967295, iif(n <= ${others}, 'category.updated', 'pet.created'), 1,
       json_object('id', 1000000 + n, 'name', 'Rex', 'categoryId', 1, 'status', 'available'), '2026-01-01T00:00:00.000Z'
     FROM numbers`,
  );
  received = [];
  await service.start();
  const begin = performance.now();
  // Its nudge wakes the object.
  await send("/v1/pets", { name: "Rex", categoryId: 1 });
  await arrive(count + 1);
  server.closeAllConnections();
  server.close();
  const [first = Infinity] = received;
  return { first: (first - begin) / 1_000, rest: ((received[count - 1] ?? Infinity) - first) / 1_000 };
}
