import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { operationsOf, parseDocument } from "../../openapi/read.ts";
import { ROWS } from "../../register/operations.ts";
import type { OperationId, Row } from "../../register/row.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { failure, fakeService, json, type Reply } from "./client/fake-service.ts";
import { sendDocumented, useBuiltService } from "./service.ts";

/** Every operation of the document. Its scope is the one that the register names: the document has that of the guard. */
const OPERATIONS = [...operationsOf(parseDocument(readFileSync("public/openapi.json", "utf8")))].map(
  ([route, { operationId, "x-required-scope": documented }]) => {
    const id = operationId as OperationId;
    const [method = "", path = ""] = route.split(" ");
    return { id, method, path, documented, scope: (ROWS[id] as Row | undefined)?.scope };
  },
);

const service = useBuiltService();

/** Sends a request without a body and with a key for these scopes. */
async function send(method: string, path: string, scopes: readonly string[]): Promise<Response> {
  const key = await grantProductionKey(service.worker, generateKey("production"), scopes);
  return sendDocumented(service, `/v1${path.replace(/\{\w+\}/, "1")}`, { method }, key);
}

test("the document has the operations of the register, each with its scope", () => {
  const scopes = Object.entries(ROWS).map(([id, { scope }]) => [id, scope]);
  expect(Object.fromEntries(OPERATIONS.map(({ id, documented }) => [id, documented]))).toEqual(
    Object.fromEntries(scopes),
  );
});

/** What keys of earlier versions have, and what a key only passes on to tokens. */
const NEEDED_BY_NONE = ["store:write", "orders:own"];
test.each(SCOPES.filter((scope) => !NEEDED_BY_NONE.includes(scope)))("an operation needs %s", (scope) => {
  expect(OPERATIONS.map((operation) => operation.scope)).toContain(scope);
});

test.each(OPERATIONS.filter(({ scope }) => scope === undefined))("$id needs no scope", async ({ method, path }) => {
  expect((await send(method, path, [])).status).toBe(200);
});

// Promise: scopes-of-orders
test.each(OPERATIONS.filter(({ scope }) => scope !== undefined))(
  "$id needs $scope and no other scope",
  async ({ method, path, scope = "" }) => {
    const refused = await send(
      method,
      path,
      SCOPES.filter((other) => other !== scope && !(scope.startsWith("orders:") && other === "store:write")),
    );
    expect(refused.status).toBe(403);
    expect(refused.headers.get("WWW-Authenticate")).toBe(
      `Bearer realm="petstore", error="insufficient_scope", scope="${scope}"`,
    );
    // A key sees the events of the resources that it may read, and has to be able to read one.
    const accepted = await send(method, path, scope === "events:read" ? [scope, "pets:read"] : [scope]);
    // The service checks the scope first, then the body and the resource, which are missing.
    expect([200, 400, 404]).toContain(accepted.status);
    if (scope.startsWith("orders:")) expect([400, 404]).toContain((await send(method, path, ["store:write"])).status);
  },
);

// The client has its own paths.
test.each(OPERATIONS)("the client sends $id as $method $path", async ({ id, method, path }) => {
  const events: Reply = json(200, `{"events":[],"cursor":"${"0".repeat(32)}","more":false}`);
  const missing = failure(404, "not_found");
  const { store, sent } = fakeService([
    (one) => (id !== "listEvents" && one.path.startsWith("/events") ? events : missing)(one),
  ]);
  await ROWS[id].sample(store).catch(() => {});
  const template = (address: string) => address.replace(/\?.*/, "").replace(/\/(?:\d+|\{\w+\})/, "/{}");
  expect(sent.map((one) => `${one.method} ${template(one.path)}`)).toContain(`${method} ${template(path)}`);
});
