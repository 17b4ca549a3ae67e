import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { FragileService } from "./fragile-service.ts";

/** Milliseconds until a service that starts has delivered what waits. The machine may be busy. */
const TIMEOUT = 120_000;
/** Deliveries that succeed before the kill. */
const BEFORE = 3;

/** A receiver that leaves requests open from a given one on, as long as it is told to. */
async function startReceiver() {
  const receiver = { url: "", received: [] as string[], leavesOpenFrom: BEFORE };
  const server = createServer(async (request, response) => {
    const { data, version } = (await json(request)) as { data: { id: number }; version: number };
    if (receiver.received.push(`${data.id}:${version}`) <= receiver.leavesOpenFrom) response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return receiver;
}

test("a service that was killed during an attempt delivers every event without a request, in the order of each resource", async () => {
  const receiver = await startReceiver();
  await using service = await FragileService.start(inject("bundle"), 1, [], "local");
  const send = async (method: string, path: string, body: object): Promise<{ id: number }> => {
    const headers = { Authorization: `Bearer ${service.keys[0]}`, "Content-Type": "application/json" };
    const response = await fetch(new URL(path, service.url), { method, headers, body: JSON.stringify(body) });
    expect(response.ok).toBe(true);
    return (await response.json()) as { id: number };
  };
  const { id: hook } = await send("POST", "/v1/webhooks", { url: receiver.url, types: ["pet.created", "pet.updated"] });
  const sent: string[] = [];
  for (let count = 0; count < 5; count++) {
    const { id } = await send("POST", "/v1/pets", { name: "Rex", categoryId: 1 });
    await send("PATCH", `/v1/pets/${id}`, { name: "Max" });
    sent.push(`${id}:1`, `${id}:2`);
  }
  await vi.waitFor(() => expect(receiver.received.length).toBeGreaterThan(BEFORE), TIMEOUT);
  await send("POST", `/v1/webhooks/${hook}/rotate-secret`, {});
  await service.kill();
  expect(service.storesWith("whsec_")).toEqual(["do"]);
  const before = receiver.received.splice(0);
  receiver.leavesOpenFrom = Infinity;

  await service.start();
  const after = receiver.received;
  const isComplete = () => expect(after).toEqual(expect.arrayContaining(sent.slice(BEFORE)));
  await vi.waitFor(isComplete, { timeout: TIMEOUT, interval: 50 });
  expect(before.slice(0, BEFORE)).toEqual(sent.slice(0, BEFORE));
  // What succeeded in the wave of the kill comes again. The sort is stable: each resource keeps its order.
  const firstCopies = [...new Set([...before, ...after])];
  expect(firstCopies.toSorted((a, b) => Number.parseInt(a) - Number.parseInt(b))).toEqual(sent);
});
