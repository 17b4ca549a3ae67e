import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { operationsOf, parseDocument } from "../../openapi/read.ts";
import { ROWS } from "../../register/operations.ts";
import type { OperationId, Row } from "../../register/row.ts";
import { SCOPES } from "../../src/auth/scopes.ts";
import { failure, fakeService, json, type Reply } from "./client/fake-service.ts";

/** Every operation of the document. Its scope is the one that the register names: the document has that of the guard. */
const OPERATIONS = [...operationsOf(parseDocument(readFileSync("public/openapi.json", "utf8")))].map(
  ([route, { operationId, "x-required-scope": documented }]) => {
    const id = operationId as OperationId;
    const [method = "", path = ""] = route.split(" ");
    return { id, method, path, documented, scope: (ROWS[id] as Row | undefined)?.scope };
  },
);

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

// The client has its own paths.
test.each(OPERATIONS)("the client sends $id as $method $path", async ({ id, method, path }) => {
  const events: Reply = json(200, `{"events":[],"cursor":"${"0".repeat(32)}","more":false}`);
  const missing = failure(404, "not_found");
  const isFeed = ["listEvents", "followLive"].includes(id);
  // Customers ask for the live feed, where keys ask for the feed.
  const { store, sent } = fakeService([(one) => (!isFeed && one.path.startsWith("/events") ? events : missing)(one)], {
    apiKey: id === "followLive" ? "petstore_test_t_1" : "key",
  });
  await ROWS[id].sample(store).catch(() => {});
  const template = (address: string) => address.replace(/\?.*/, "").replace(/\/(?:\d+|\{\w+\})/, "/{}");
  expect(sent.map((one) => `${one.method} ${template(one.path)}`)).toContain(`${method} ${template(path)}`);
});
