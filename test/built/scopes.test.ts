import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operationsOf, parseDocument } from "../../openapi/read.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import type { PetStore } from "../../client/src/index.ts";
import { type Scope, SCOPES } from "../../src/auth/scopes.ts";
import { failure, fakeService } from "./client/fake-service.ts";
import { type BuiltService, sendDocumented, startBuiltService } from "./service.ts";

const MANAGE = "webhooks:manage";
// Written by hand. The batteries take the scope of an operation from the document, and the document takes it from the guard, so
// they would accept a wrong one. The client has its own paths.
const OPERATIONS: [
  operationId: string,
  method: string,
  template: string,
  scope: Scope | undefined,
  send: (store: PetStore) => unknown,
][] = [
  ["listPets", "GET", "/v1/pets", "pets:read", ({ pets }) => pets.list()[Symbol.asyncIterator]().next()],
  ["createPet", "POST", "/v1/pets", "pets:write", ({ pets }) => pets.create({ name: "Rex", categoryId: 1 })],
  [
    "createPets",
    "POST",
    "/v1/pets/batch",
    "pets:write",
    ({ pets }) => pets.createMany([{ name: "Rex", categoryId: 1 }]),
  ],
  ["updatePets", "PATCH", "/v1/pets/batch", "pets:write", ({ pets }) => pets.updateMany([{ id: 1, name: "Rex" }])],
  ["getPet", "GET", "/v1/pets/{petId}", "pets:read", ({ pets }) => pets.get(1)],
  ["updatePet", "PATCH", "/v1/pets/{petId}", "pets:write", ({ pets }) => pets.update(1, { name: "Rex" })],
  ["deletePet", "DELETE", "/v1/pets/{petId}", "pets:write", ({ pets }) => pets.delete(1)],
  [
    "listCategories",
    "GET",
    "/v1/categories",
    "pets:read",
    ({ categories }) => categories.list()[Symbol.asyncIterator]().next(),
  ],
  ["createCategory", "POST", "/v1/categories", "pets:write", ({ categories }) => categories.create({ name: "Dogs" })],
  ["getCategory", "GET", "/v1/categories/{categoryId}", "pets:read", ({ categories }) => categories.get(1)],
  [
    "updateCategory",
    "PATCH",
    "/v1/categories/{categoryId}",
    "pets:write",
    ({ categories }) => categories.update(1, { name: "Cats" }),
  ],
  ["deleteCategory", "DELETE", "/v1/categories/{categoryId}", "pets:write", ({ categories }) => categories.delete(1)],
  ["getInventory", "GET", "/v1/store/inventory", "store:read", ({ orders }) => orders.inventory()],
  ["listOrders", "GET", "/v1/store/orders", "store:read", ({ orders }) => orders.list()[Symbol.asyncIterator]().next()],
  ["placeOrder", "POST", "/v1/store/orders", "store:write", ({ orders }) => orders.place({ petId: 1 })],
  ["getOrder", "GET", "/v1/store/orders/{orderId}", "store:read", ({ orders }) => orders.get(1)],
  ["updateOrder", "PATCH", "/v1/store/orders/{orderId}", "store:write", ({ orders }) => orders.ship(1)],
  ["cancelOrder", "DELETE", "/v1/store/orders/{orderId}", "store:write", ({ orders }) => orders.cancel(1)],
  ["listEvents", "GET", "/v1/events", "events:read", ({ events }) => events.list()],
  ["listWebhooks", "GET", "/v1/webhooks", MANAGE, ({ webhooks }) => webhooks.list()[Symbol.asyncIterator]().next()],
  ["createWebhook", "POST", "/v1/webhooks", MANAGE, ({ webhooks }) => webhooks.create({ url: "", types: [] })],
  ["getWebhook", "GET", "/v1/webhooks/{webhookId}", MANAGE, ({ webhooks }) => webhooks.get(1)],
  ["updateWebhook", "PATCH", "/v1/webhooks/{webhookId}", MANAGE, ({ webhooks }) => webhooks.update(1, {})],
  ["deleteWebhook", "DELETE", "/v1/webhooks/{webhookId}", MANAGE, ({ webhooks }) => webhooks.delete(1)],
  ["getWebhookState", "GET", "/v1/webhooks/{webhookId}/state", MANAGE, ({ webhooks }) => webhooks.state(1)],
  ["getWebhookSecret", "GET", "/v1/webhooks/{webhookId}/secret", MANAGE, ({ webhooks }) => webhooks.secret(1)],
  [
    "rotateWebhookSecret",
    "POST",
    "/v1/webhooks/{webhookId}/rotate-secret",
    MANAGE,
    ({ webhooks }) => webhooks.rotateSecret(1),
  ],
  ["testWebhook", "POST", "/v1/webhooks/{webhookId}/test", MANAGE, ({ webhooks }) => webhooks.test(1)],
  ["replayWebhook", "POST", "/v1/webhooks/{webhookId}/replay", MANAGE, ({ webhooks }) => webhooks.replay(1, "latest")],
  ["stopReplay", "DELETE", "/v1/webhooks/{webhookId}/replay", MANAGE, ({ webhooks }) => webhooks.stopReplay(1)],
  ["listDeliveries", "GET", "/v1/webhooks/{webhookId}/deliveries", MANAGE, ({ webhooks }) => webhooks.deliveries(1)],
  ["getKey", "GET", "/v1/key", undefined, (store) => store.key()],
];

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

/** Sends a request without a body and with a key for these scopes. */
async function send(method: string, template: string, scopes: readonly string[]): Promise<Response> {
  const key = await grantProductionKey(service.worker, generateKey("production"), scopes);
  return sendDocumented(service, template.replace(/\{\w+\}/, "1"), { method }, key);
}

test("the document names these operations and scopes, and no others", () => {
  const operations = operationsOf(parseDocument(readFileSync("public/openapi.json", "utf8")));
  const documented = [...operations].map(([route, operation]) => {
    const [method, path] = route.split(" ");
    return `${operation.operationId} ${method} /v1${path} ${operation["x-required-scope"] ?? ""}`;
  });
  expect(documented.toSorted()).toEqual(OPERATIONS.map((row) => row.slice(0, 4).join(" ")).toSorted());
});

test.each(OPERATIONS.filter(([, , , scope]) => scope === undefined))(
  "%s, %s %s, needs no scope",
  async (_, method, template) => {
    expect((await send(method, template, [])).status).toBe(200);
  },
);

// Promise: scopes-of-orders
test.each(OPERATIONS.filter((row) => row[3] !== undefined))(
  "%s, %s %s, needs %s and no other scope",
  async (_, method, template, scope) => {
    const refused = await send(
      method,
      template,
      SCOPES.filter((other) => other !== scope),
    );
    expect(refused.status).toBe(403);
    expect(refused.headers.get("WWW-Authenticate")).toBe(
      `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    );
    // A key sees the events of the resources that it may read, and has to be able to read one.
    const accepted = await send(method, template, scope === "events:read" ? [scope, "pets:read"] : [scope ?? ""]);
    // The service checks the scope first, then the body and the resource, which are missing.
    expect([200, 400, 404]).toContain(accepted.status);
  },
);

test.each(OPERATIONS)("the client sends %s as %s %s", async (_, method, template, _scope, ask) => {
  const { store, sent } = fakeService([failure(404, "not_found")]);
  await Promise.resolve(ask(store)).catch(() => {});
  expect(`${sent[0]?.method} /v1${sent[0]?.path}`).toBe(`${method} ${template.replace(/\{\w+\}/, "1")}`);
});
