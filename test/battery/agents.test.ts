import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { ROWS } from "../../register/operations.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { SCOPES } from "../../src/auth/scopes.ts";
import { ask, callTool, refusalOf, resultOf, REVISIONS } from "../support/agents.ts";
import { call } from "../support/client.ts";
import { grantKey, key } from "../support/keys.ts";
import { linesOf } from "../support/log-lines.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { OPERATIONS } from "../support/operations.ts";

/** Each tool with its scope, its kind, and a call that succeeds. */
const TOOLS: { [name: string]: [scope: string | undefined, kind: "read" | "add" | "change", args: object] } =
  Object.fromEntries(
    Object.entries(ROWS).flatMap(([name, { scope, tool }]) => (tool === "hidden" ? [] : [[name, [scope, ...tool]]])),
  );
const NAMES = Object.keys(TOOLS);

beforeAll(async () => {
  const send = (path: string, body: object) => call(path, { method: "POST", key, body });
  const animals = ["Ada", "Bruno", "Coco", "Dora"].map((name) => ({ name, categoryId: 9 }));
  await send("/v1/pets/batch", animals);
  for (const name of ["Camelids", "Dogs"]) await send("/v1/categories", { name });
  for (const petId of [1, 2]) await send("/v1/store/orders", { petId });
  await send("/v1/webhooks", { url: "http://127.0.0.1:1/hook", types: ["category.updated"] });
});

const once = (name: string, args: object) =>
  TOOLS[name]?.[1] === "add" ? { idempotencyKey: crypto.randomUUID(), ...args } : args;

test("these are the tools", async () => {
  const { tools } = await resultOf({ method: "tools/list" });
  expect(tools.map(({ name }) => name).toSorted()).toEqual(NAMES.toSorted());
});

test.each(REVISIONS)("the tools of %s are small, and in JSON Schema that every client reads", async (revision) => {
  const { text, body } = await ask({ method: "tools/list" }, revision);
  expect(text.length).toBeLessThanOrEqual(14_000);
  expect(text).not.toMatch(/"(\$ref|format|const|anyOf|oneOf|allOf|outputSchema|quantity)":|null,null/);
  for (const { name, description, annotations, inputSchema } of body.result?.tools ?? []) {
    const [, kind] = TOOLS[name] ?? [];
    expect(String(description).length, name).toBeLessThanOrEqual(300);
    expect(String(description), name).not.toMatch(/HTTP|header|If-Match|ETag|`|\b[2-5]\d\d\b(?! (animals|to))/);
    expect(inputSchema, name).toMatchObject({ type: "object", additionalProperties: false });
    expect(annotations, name).toEqual({
      ...(kind === "read" ? { readOnlyHint: true } : { destructiveHint: kind === "change", idempotentHint: true }),
      openWorldHint: false,
    });
    const required = (inputSchema as { required?: string[] }).required ?? [];
    expect(required.includes("idempotencyKey"), name).toBe(kind === "add");
    expect("include" in inputSchema.properties, name).toBe(name === "listPets");
  }
  const { instructions = "" } = (
    await ask({ method: revision === "2026-07-28" ? "server/discover" : "initialize" }, revision)
  ).body.result as { instructions?: string };
  expect(instructions.length).toBeGreaterThan(500);
  expect(instructions.length).toBeLessThanOrEqual(1_200);
  // What it names is there.
  for (const [word] of instructions.matchAll(/\b[a-z]+[A-Z]\w+/g))
    expect([...NAMES, "nextCursor", "idempotencyKey", "retryAfter"]).toContain(word);
});

describe.each(NAMES)("%s", (name) => {
  const [scope, kind, args] = TOOLS[name] ?? [undefined, "read", {}];

  test("has the scope of its operation, is listed by it, and without it is a failure", async () => {
    const alone = await grantKey({ scopes: scope === undefined ? [] : [scope, "pets:read"] });
    const listed = async (key: string) =>
      (await resultOf({ method: "tools/list" }, undefined, { key })).tools.map((tool) => tool.name);
    expect(await listed(alone)).toContain(name);
    if (scope === undefined) return;
    const including = scope.startsWith("orders:") ? ["store:write"] : [];
    expect(await listed(await grantKey({ scopes: [...including, "pets:read"] }))).toEqual(
      including.length === 0 ? expect.any(Array) : expect.arrayContaining([name]),
    );
    const lacking = SCOPES.filter((one) => one !== scope && !including.includes(one));
    const others = await grantKey({ scopes: [...lacking, scope.split(":")[0] ?? ""] });
    expect(await listed(others)).not.toContain(name);
    const { message } = await refusalOf(name, once(name, args), "insufficient_scope", { key: others });
    expect(message).toBe(`This API key lacks the scope ${scope}.`);
  });

  test("is one request of its key, with one line in the log, which reads from the primary", async () => {
    const { DB, starts, statements } = observedDatabase();
    let count = 0;
    const RATE_LIMITER = { limit: () => Promise.resolve({ success: ++count > 0 }) };
    // Every read could come from memory, or from a replica.
    const bindings = { DB, RATE_LIMITER, READ_MAX_AGE: "60", READS: "nearest" } as unknown as Partial<Env>;
    if (kind === "read") await callTool(name, args, { bindings: { ...bindings, DB: env.DB } });
    let id: string | null = null;
    const { log } = await linesOf(async () => {
      const params = { name, arguments: once(name, args) };
      const { response, body, text } = await ask({ method: "tools/call", params }, undefined, {
        bindings,
        headers: { traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" },
        cf: { colo: "TXL" } as CfProperties,
      });
      expect(body.result?.isError, text).toBeUndefined();
      id = response.headers.get("X-Request-Id");
      expect(response.headers.get("Cache-Control")).toBe("private, no-store");
    });
    const operation = OPERATIONS.find((one) => one.name === name);
    const line = {
      requestId: id,
      method: operation?.method,
      route: operation?.template.replace(/\{(\w+)\}/g, ":$1"),
      agent: true,
      keyId: expect.any(String),
      colo: "TXL",
      traceId: "4bf92f3577b34da6a3ce929d0e0e4736",
    };
    expect(log.filter(({ level }) => level === "info")).toEqual([expect.objectContaining(line)]);
    // The service counts the animals at most once in ten seconds, whoever asks.
    if (name !== "getInventory") expect(log[0]).not.toHaveProperty("cached");
    expect(count).toBe(kind === "read" ? 2 : 1);
    expect(new Set(starts)).toEqual(new Set(operation?.usesDatabase && statements.length > 0 ? ["first-primary"] : []));
    expect(kind === "read" || statements.length > 0).toBe(true);
  });

  test("refuses what it does not know", async () => {
    const { message } = await refusalOf(name, { ...once(name, args), dryRun: true }, "invalid_request");
    expect(message).toMatch(/^dryRun is unknown, there is /);
  });
});

test("every int64 of a response is a string, and every other number is one", async () => {
  const large = "9223372036854775807";
  const created = await callTool("createPets", {
    items: [
      { name: '"id":1,\\"categoryId\\":2', categoryId: large },
      { name: "x", categoryId: `-${large}` },
    ],
    idempotencyKey: crypto.randomUUID(),
  });
  expect(created.structuredContent?.items).toEqual([
    { id: expect.stringMatching(/^\d+$/), name: '"id":1,\\"categoryId\\":2', categoryId: large, status: "available" },
    { id: expect.stringMatching(/^\d+$/), name: "x", categoryId: `-${large}`, status: "available" },
  ]);
  const int64 = new Set<string>();
  JSON.parse(JSON.stringify(document.components.schemas), (name, value: { format?: string }) => {
    if (value?.format === "int64") int64.add(name);
    return value;
  });
  expect(int64).toEqual(new Set(["id", "categoryId", "petId"]));
  for (const [name, [, kind, args]] of Object.entries(TOOLS).filter(([name]) => /^(list|get)/.test(name))) {
    const { content } = await callTool(name, args);
    expect(kind).toBe("read");
    JSON.parse(content[0]?.text ?? "", (field, value: unknown) => {
      if (int64.has(field)) expect(value, `${name} ${field}`).toBeTypeOf("string");
      else
        expect(["quantity", "version", "concurrency"].includes(field) && typeof value !== "number", field).toBe(false);
      return value;
    });
  }
});

test("no message of a failure speaks of HTTP", async () => {
  const bad: [string, object][] = [
    ["listPets", { limit: 0 }],
    ["listPets", { cursor: "AAAAAAAAAAAAAAAA" }],
    ["createPets", { items: [{ name: "", categoryId: "1" }], idempotencyKey: "a" }],
    ["updatePets", { items: [{ id: "1" }, { id: "1" }] }],
    ["updateOrder", { orderId: "1", status: "shipped", shipDate: "yesterday" }],
    ["listOrders", { petId: "1", reference: "x" }],
    ["createPets", { items: Array.from({ length: 101 }, () => ({ name: "x", categoryId: "1" })), idempotencyKey: "b" }],
  ];
  for (const [name, args] of bad) {
    const { message } = await refusalOf(name, args, "invalid_request");
    expect(message).not.toMatch(/header|Idempotency-Key|If-Match|ETag/);
  }
});
