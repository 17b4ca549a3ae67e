import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { json, text } from "node:stream/consumers";
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

test("petstore listen sends the requests of the service", async () => {
  const received = new Map<string, { [path: string]: { headers: IncomingHttpHeaders; body: string } }>();
  const server = createServer(async (request, response) => {
    const { url = "", headers } = request;
    const id = String(headers["webhook-id"]);
    received.set(id, { ...received.get(id), [url]: { headers, body: await text(request) } });
    response.writeHead(204).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const receiver = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await using service = await FragileService.start(inject("bundle"), 1, [], "local");
  const base = new URL("/v1", service.url).href;
  const send = async (path: string, body?: object): Promise<{ id: number; secret: string }> => {
    const headers = { Authorization: `Bearer ${service.keys[0]}`, "Content-Type": "application/json" };
    const response = await fetch(base + path, { headers, ...(body && { method: "POST", body: JSON.stringify(body) }) });
    return (await response.json()) as { id: number; secret: string };
  };
  const { id } = await send("/webhooks", { url: `${receiver}/service`, types: ["pet.created"] });
  const { secret } = await send(`/webhooks/${id}/secret`);
  const options = ["--base", base, "--forward-to", `${receiver}/command`, "--secret", secret];
  const command = spawn(process.execPath, ["client/src/command/petstore.ts", "listen", ...options], {
    env: { ...process.env, PETSTORE_API_KEY: service.keys[0] },
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => {
    command.kill();
    server.closeAllConnections();
    server.close();
  });
  let output = "";
  command.stdout.on("data", (part: Buffer) => (output += String(part)));
  await vi.waitFor(() => expect(output).toContain("Forwarding what follows"), TIMEOUT);
  for (const name of ['Zoë 🐕 "\\', "\u0001\u007f\u2028\t/"]) await send("/pets", { name, categoryId: 7 });
  const isComplete = () => expect([...received.values()].map((one) => Object.keys(one).length)).toEqual([2, 2]);
  await vi.waitFor(isComplete, TIMEOUT);
  // Node.js and workerd add headers of their own.
  const partsOf = ({ headers, body }: { headers: IncomingHttpHeaders; body: string }) => ({
    type: headers["content-type"],
    agent: headers["user-agent"],
    length: headers["content-length"],
    names: Object.keys(headers)
      .filter((name) => name.startsWith("webhook-"))
      .toSorted(),
    body,
  });
  for (const { "/service": theirs, "/command": ours } of received.values()) {
    if (theirs === undefined || ours === undefined) expect.unreachable();
    expect(partsOf(ours)).toEqual(partsOf(theirs));
    // The second of a signature is part of it.
    if (ours.headers["webhook-timestamp"] === theirs.headers["webhook-timestamp"])
      expect(ours.headers["webhook-signature"]).toBe(theirs.headers["webhook-signature"]);
  }
});
