import type { LinkObject, OpenAPIObject, OperationObject } from "openapi3-ts/oas31";
import { beforeAll, expect, test } from "vitest";
import { operationsOf } from "../../openapi/read.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { call } from "../support/client.ts";
import { grantKey } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

const described = [...operationsOf(document as unknown as OpenAPIObject).values()];
const components: { [operationId: string]: LinkObject } = document.components.links;

/** The names of the links of an operation, with their targets. */
function linksOf({ responses = {} }: OperationObject): Map<string, LinkObject | undefined> {
  const links = Object.values(responses).flatMap((response: { links?: { [name: string]: { $ref: string } } }) =>
    Object.entries(response.links ?? {}),
  );
  return new Map(links.map(([name, { $ref }]) => [name, components[$ref.replace("#/components/links/", "")]]));
}

test("a response with one resource links to the other operations on it", () => {
  const found = described.map((operation) => [operation.operationId, [...linksOf(operation).keys()]]);
  expect(Object.fromEntries(found.filter(([, names]) => names?.length))).toEqual({
    createPet: ["getPet", "updatePet", "deletePet"],
    getPet: ["updatePet", "deletePet"],
    updatePet: ["getPet", "deletePet"],
    createCategory: ["getCategory", "updateCategory", "deleteCategory"],
    getCategory: ["updateCategory", "deleteCategory"],
    updateCategory: ["getCategory", "deleteCategory"],
    placeOrder: ["getOrder", "updateOrder", "cancelOrder"],
    getOrder: ["updateOrder", "cancelOrder"],
    updateOrder: ["getOrder", "cancelOrder"],
    createWebhook: ["getWebhook", "updateWebhook", "deleteWebhook"],
    getWebhook: ["updateWebhook", "deleteWebhook"],
    updateWebhook: ["getWebhook", "deleteWebhook"],
  });
});

let key: string;
beforeAll(async () => {
  key = await grantKey();
});

test.each([
  ["createPet", "getPet", "updatePet", "deletePet"],
  ["createCategory", "updateCategory", "deleteCategory"],
  ["placeOrder", "getOrder", "updateOrder", "getOrder"],
  ["placeOrder", "cancelOrder"],
])("following the links from %s to %s and on finds the resource", async (first, ...path) => {
  const animal = await call("/v1/pets", { method: "POST", key, body: { name: "Rex", categoryId: 7 } });
  const { id: petId } = await animal.json<{ id: number }>();
  const start = operation(first);
  let response = await call(start.path, { ...start.request, key, ...(first === "placeOrder" && { body: { petId } }) });
  let from = first;
  for (const next of path) {
    const body = await response.json<{ [name: string]: unknown }>();
    const link = linksOf(described.find(({ operationId }) => operationId === from) ?? {}).get(next);
    const { template, request } = operation(link?.operationId ?? "");
    const target = template.replace(/\{(\w+)\}/g, (_, name: string) => {
      const [, field = ""] = /^\$response\.body#\/(\w+)$/.exec(String(link?.parameters?.[name])) ?? [];
      return String(body[field]);
    });
    response = await call(target, { ...request, key });
    expect(response.ok, `${from}, ${next}: ${response.status}`).toBe(true);
    from = next;
  }
});

function operation(name: string) {
  return OPERATIONS.find((operation) => operation.name === name) ?? expect.unreachable(name);
}
