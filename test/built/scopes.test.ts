import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operationsOf, parseDocument } from "../../openapi/read.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { type BuiltService, sendDocumented, startBuiltService } from "./service.ts";

// Written by hand. The batteries take the scope of an operation from the document, and the document takes it from the guard, so
// they would accept a wrong one.
const REQUIRED_SCOPES = [
  ["listPets", "GET", "/v1/pets", "pets:read"],
  ["createPet", "POST", "/v1/pets", "pets:write"],
  ["createPets", "POST", "/v1/pets/batch", "pets:write"],
  ["getPet", "GET", "/v1/pets/{petId}", "pets:read"],
  ["updatePet", "PATCH", "/v1/pets/{petId}", "pets:write"],
  ["deletePet", "DELETE", "/v1/pets/{petId}", "pets:write"],
  ["listCategories", "GET", "/v1/categories", "pets:read"],
  ["createCategory", "POST", "/v1/categories", "pets:write"],
  ["getCategory", "GET", "/v1/categories/{categoryId}", "pets:read"],
  ["updateCategory", "PATCH", "/v1/categories/{categoryId}", "pets:write"],
  ["deleteCategory", "DELETE", "/v1/categories/{categoryId}", "pets:write"],
  ["getInventory", "GET", "/v1/store/inventory", "store:read"],
  ["listOrders", "GET", "/v1/store/orders", "store:read"],
  ["placeOrder", "POST", "/v1/store/orders", "store:write"],
  ["getOrder", "GET", "/v1/store/orders/{orderId}", "store:read"],
  ["updateOrder", "PATCH", "/v1/store/orders/{orderId}", "store:write"],
  ["cancelOrder", "DELETE", "/v1/store/orders/{orderId}", "store:write"],
  ["listEvents", "GET", "/v1/events", "events:read"],
] as const;

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
    return `${operation.operationId} ${method} /v1${path} ${operation["x-required-scope"]}`;
  });
  expect(documented.toSorted()).toEqual(REQUIRED_SCOPES.map((row) => row.join(" ")).toSorted());
});

test.each(REQUIRED_SCOPES)("%s, %s %s, needs %s and no other scope", async (_, method, template, scope) => {
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
  const accepted = await send(method, template, scope === "events:read" ? [scope, "pets:read"] : [scope]);
  // The service checks the scope first, then the body and the resource, which are missing.
  expect([200, 400, 404]).toContain(accepted.status);
});
