import { beforeAll, expect, test } from "vitest";
import document from "../../public/openapi.json" with { type: "json" };
import { call } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { OPERATIONS } from "../support/operations.ts";

beforeAll(async () => {
  for (const [path, body] of [
    ["/v1/pets", { name: "Rex", categoryId: 1 }],
    ["/v1/categories", { name: "Dogs" }],
    ["/v1/store/orders", { petId: 1 }],
    ["/v1/webhooks", { url: "http://127.0.0.1:1/", types: ["category.deleted"] }],
  ] as const) {
    expect((await call(path, { method: "POST", key, body })).status).toBe(201);
  }
});

const { paths }: { paths: { [path: string]: { [method: string]: { responses: object } } } } = document;

// `call` compares each response with the document, which has to name `Age` if the response has it.
// Promise: reads-from-memory
test.each(OPERATIONS.filter(({ method }) => method === "GET"))(
  "$name responds from memory if the document says so",
  async ({ path, template }) => {
    const described = paths[template.slice("/v1".length)]?.["get"]?.responses as { 200: { headers: object } };
    const headers = { "Cache-Control": "max-age=60" };
    const first = await call(path, { key, headers });
    expect(first.status).toBe(200);
    const second = await call(path, { key, headers });
    expect(second.headers.has("Age")).toBe("Age" in described[200].headers);
    // A page of the live feed has a new bookmark each time.
    if ("Age" in described[200].headers) expect(await second.text()).toBe(await first.text());
    const bindings = { READ_MAX_AGE: "60" } as unknown as Partial<Env>;
    expect((await call(path, { key, bindings })).headers.has("Age")).toBe("Age" in described[200].headers);
  },
);
