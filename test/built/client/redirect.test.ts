import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { PetStore } from "../../../client/src/index.ts";
import { ANIMAL, errorOf } from "./fake-service.ts";

// Uses real connections, because the `fetch` of the runtime handles redirects.

/** The requests that the targets of the redirects received. */
let received: string[] = [];
const receive: RequestListener = (request, response) => {
  received.push(`${request.method} ${request.url} ${request.headers.authorization}`);
  response.writeHead(201, { "Content-Type": "application/json" }).end(ANIMAL);
};
let location = "";
const service = createServer((request, response) => {
  if (request.url?.startsWith("/v1/")) response.writeHead(307, { Location: location }).end();
  else receive(request, response);
});
const elsewhere = createServer(receive);

const addressOf = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

beforeAll(async () => {
  for (const server of [service, elsewhere]) await once(server.listen(0, "127.0.0.1"), "listening");
});
afterAll(() => {
  for (const server of [service, elsewhere]) {
    server.close();
    server.closeAllConnections();
  }
});
beforeEach(() => {
  received = [];
});

// Promise: the-key-stays
test.each([
  ["another server", () => `${addressOf(elsewhere)}/v1/pets`],
  ["another path of the server, which would get the API key", () => "/login"],
])("a redirect to %s is an error, and nothing is sent there", async (_, target) => {
  location = target();
  const store = new PetStore({ baseUrl: `${addressOf(service)}/v1`, apiKey: "key" });
  for (const request of [() => store.pets.create({ name: "Rex", categoryId: 1 }), () => store.pets.get(1)]) {
    expect(await errorOf(request())).toMatchObject({ code: "unexpected_response", status: 307 });
  }
  expect(received).toEqual([]);
});
