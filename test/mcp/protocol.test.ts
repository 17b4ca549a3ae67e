import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createApp } from "../../src/app.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { BODY_TIMEOUT_MILLISECONDS, MAX_BODY_BYTES } from "../../src/http/body.ts";
import { lifecycle } from "../../src/http/lifecycle.ts";
import { endpoint } from "../../src/mcp/endpoint.ts";
import { createRoutes } from "../../src/operation.ts";
import {
  type Answer,
  ask,
  callTool,
  ENVELOPE,
  messageCall,
  MODERN,
  OLDER,
  post,
  refusalOf,
  resultOf,
  REVISIONS,
} from "../support/agents.ts";
import { call, expectError } from "../support/client.ts";
import { grantKey, grantToken, key } from "../support/keys.ts";
import { linesOf } from "../support/log-lines.ts";
import { openBody } from "../support/open-body.ts";

afterEach(() => {
  vi.useRealTimers();
});

const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const LIST = { method: "tools/list" };
const json = (body: unknown) => ({ body: JSON.stringify(body) });
const rpc = (more: object) => json({ jsonrpc: "2.0", id: 1, method: "ping", ...more });

function expectRpcError({ response, body, text }: Answer, status: number, code: number, id: unknown = 1): void {
  expect(response.status, text).toBe(status);
  expect(body).toEqual({ jsonrpc: "2.0", id, error: expect.objectContaining({ code, message: expect.any(String) }) });
}

describe("older revisions", () => {
  test.each(OLDER)("%s begins with initialize", async (protocolVersion) => {
    const { response, body } = await post(rpc({ method: "initialize", params: { protocolVersion } }));
    expect(response.headers.get("Mcp-Session-Id")).toBeNull();
    expect(body.result).toEqual({
      protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: "petstore", version: expect.any(String) },
      instructions: expect.stringContaining("idempotencyKey"),
    });
  });

  test.each([undefined, "2024-11-05", MODERN, 5])("initialize for %j offers the newest of them", async (version) => {
    const params = { protocolVersion: version };
    expect((await post(rpc({ method: "initialize", params }))).body.result?.["protocolVersion"]).toBe("2025-11-25");
  });

  test("a ping has an empty result, and a request without the header is one of 2025-03-26", async () => {
    expect((await post(rpc({}))).body).toEqual({ jsonrpc: "2.0", id: 1, result: {} });
    const oldest = await resultOf(LIST, undefined, { headers: { "MCP-Protocol-Version": "2025-03-26" } });
    const without = (await post(rpc(LIST))).body.result;
    expect(without).toEqual(oldest);
    for (const tool of oldest.tools)
      expect(Object.keys(tool)).toEqual(["name", "description", "inputSchema", "annotations"]);
    const called = await callTool("getKey", {}, { headers: { "MCP-Protocol-Version": "2025-03-26" } });
    expect(Object.keys(called)).toEqual(["content"]);
  });

  test("an unknown method is an error in a 200", async () => {
    for (const method of ["server/discover", "prompts/list", "resources/list", "toString", ""])
      expectRpcError(await ask({ method }), 200, -32_601);
  });

  test("a cursor that tools/list did not hand out is an error", async () => {
    expectRpcError(await ask({ ...LIST, params: { cursor: "2" } }), 200, -32_602);
  });

  test.each(["2024-11-05", "1", "2025-11-25, 2025-11-25"])("the version %j is not supported", async (version) => {
    const answer = await ask(LIST, version);
    expectRpcError(answer, 400, -32_022);
    expect(answer.body.error?.data).toEqual({ supported: REVISIONS, requested: version });
  });
});

describe("revision 2026-07-28", () => {
  test("server/discover and tools/list say how long they stay", async () => {
    expect(await resultOf({ method: "server/discover" }, MODERN)).toEqual({
      supportedVersions: REVISIONS,
      capabilities: { tools: {} },
      instructions: expect.any(String),
      ttlMs: 3_600_000,
      cacheScope: "public",
    });
    const { tools, ...caching } = await resultOf(LIST, MODERN);
    expect(caching).toEqual({ ttlMs: 300_000, cacheScope: "private" });
    expect(Object.keys(tools[0] ?? {})).toEqual(["name", "title", "description", "inputSchema", "annotations"]);
  });

  test("an unknown method is a 404, and what older revisions have is one", async () => {
    for (const method of ["initialize", "ping", "prompts/list", "constructor"])
      expectRpcError(await ask({ method }, MODERN), 404, -32_601);
  });

  const modern = (headers: Record<string, string>, params: object = { _meta: ENVELOPE }) =>
    post({ headers, ...rpc({ ...LIST, params }) });
  const GOOD = { "MCP-Protocol-Version": MODERN, "Mcp-Method": "tools/list" };

  test.each<[string, Record<string, string>, number]>([
    ["no version in the header", { "Mcp-Method": "tools/list" }, -32_020],
    ["an older version in the header", { ...GOOD, "MCP-Protocol-Version": "2025-11-25" }, -32_020],
    ["no method in the header", { "MCP-Protocol-Version": MODERN }, -32_020],
    ["another method in the header", { ...GOOD, "Mcp-Method": "tools/call" }, -32_020],
    ["the method in capitals", { ...GOOD, "Mcp-Method": "TOOLS/LIST" }, -32_020],
  ])("%s is refused", async (_name, headers, code) => expectRpcError(await modern(headers), 400, code));

  test.each<[string, object, number]>([
    ["no _meta", {}, -32_602],
    ["a _meta that is no object", { _meta: [] }, -32_602],
    ["no version", { _meta: { [CAPABILITIES]: {} } }, -32_602],
    ["a version that is no text", { _meta: { [VERSION]: 20_260_728, [CAPABILITIES]: {} } }, -32_602],
    ["no capabilities", { _meta: { [VERSION]: MODERN } }, -32_602],
    ["capabilities that are a list", { _meta: { [VERSION]: MODERN, [CAPABILITIES]: [] } }, -32_602],
    ["another version than the header", { _meta: { ...ENVELOPE, [VERSION]: "2025-11-25" } }, -32_020],
  ])("a body with %s is refused", async (_name, params, code) => {
    expectRpcError(await modern(GOOD, params), 400, code);
  });

  test("an unknown version that header and body agree on is refused with those that there are", async () => {
    const answer = await modern({ ...GOOD, "MCP-Protocol-Version": "v9" }, { _meta: { ...ENVELOPE, [VERSION]: "v9" } });
    expectRpcError(answer, 400, -32_022);
    expect(answer.body.error?.data).toEqual({ supported: REVISIONS, requested: "v9" });
  });

  const named = (header: string | undefined) => {
    const params = { name: "getKey", arguments: {}, _meta: ENVELOPE };
    const headers = { ...GOOD, "Mcp-Method": "tools/call", ...(header !== undefined && { "Mcp-Name": header }) };
    return post({ headers, ...rpc({ method: "tools/call", params }) });
  };

  test.each([
    undefined,
    "getkey",
    "listPets",
    "=?base64?Z2V0S2V5",
    "=?base64?Z2V0S2V?=",
    "=?base64?/w==?=",
    "Z2V0S2V5",
  ])("the name %j in the header is not that of the body", async (header) =>
    expectRpcError(await named(header), 400, -32_020),
  );

  test.each(["getKey", "  getKey ", "=?base64?Z2V0S2V5?="])("the name %j is that of the body", async (header) => {
    expect((await named(header)).response.status).toBe(200);
  });
});

describe("messages", () => {
  const PING = { jsonrpc: "2.0", id: 1, method: "ping" };
  test.each<unknown>([
    [PING],
    [],
    "ping",
    5,
    '{"x":1}12345678901234567890',
    null,
    { jsonrpc: "2.0", id: 1, result: {} },
    { jsonrpc: "2.0", id: 1, error: { code: 1, message: "x" } },
    ...[undefined, "1.0", 2].map((jsonrpc) => ({ ...PING, jsonrpc })),
    ...[undefined, ["ping"]].map((method) => ({ ...PING, method })),
    ...[[], "x", "{}"].map((params) => ({ ...PING, params })),
  ])("%j is refused", async (body) => {
    const id = (body as { id?: unknown } | null)?.id ?? null;
    const answer = await post(json(body));
    expect(answer.response.status).toBe(400);
    expect(answer.body).toEqual({ jsonrpc: "2.0", id, error: { code: -32_600, message: expect.any(String) } });
  });

  test.each(["", "{", "{}x", "\u0000", '{"a":01}', new Uint8Array([0x7b, 0xff, 0x7d])])(
    "the body %j is no JSON",
    async (body) =>
      expectRpcError(await post({ body, headers: { "Content-Type": "application/json" } }), 400, -32_700, null),
  );

  test.each([
    '"a"',
    '""',
    '"\\ud800\\u0000é"',
    "0",
    "-1",
    "7.0",
    "1e3",
    "1e15",
    "9007199254740993",
    "-9223372036854775808",
  ])("the id %s returns as it was", async (id) => {
    const { text, response } = await post({ body: `{"jsonrpc":"2.0","id":${id},"method":"ping"}` });
    expect(response.status).toBe(200);
    const sent = /^[-0-9]{16,}$/.test(id) ? id : JSON.stringify(JSON.parse(id));
    expect(text).toBe(`{"jsonrpc":"2.0","id":${sent},"result":{}}`);
  });

  test.each(["null", "1.5", "true", "[]", "{}", "[1]", "1e400", "9223372036854775808", '["a",["b"]]'])(
    "the id %s is none",
    async (id) => {
      const answer = await post({ body: `{"jsonrpc":"2.0","id":${id},"method":"ping"}` });
      expectRpcError(answer, 400, -32_600, null);
    },
  );

  test.each(REVISIONS)("a notification of %s has no answer", async (revision) => {
    for (const method of ["notifications/initialized", "tools/call", "nonsense"]) {
      const body = { jsonrpc: "2.0", method, params: { name: "deletePet", arguments: { petId: "1" } } };
      const { response, text } = await post({ headers: { "MCP-Protocol-Version": revision }, body });
      expect([response.status, text]).toEqual([202, ""]);
    }
  });

  test.each(REVISIONS)(
    "an unknown tool of %s, and arguments that are no object, are errors in a 200",
    async (revision) => {
      const names = ["createPet", "getPet", "getWebhookSecret", "__proto__", "", undefined, 5, ["getKey"], key];
      for (const name of names) {
        const answer = await ask({ method: "tools/call", params: { name, arguments: {} } }, revision);
        expectRpcError(answer, 200, -32_602);
        expect(answer.text).not.toContain(key);
      }
      for (const args of [[], "x", "[]", "null{}", 5])
        expectRpcError(
          await ask({ method: "tools/call", params: { name: "getKey", arguments: args } }, revision),
          200,
          -32_602,
        );
    },
  );

  test("a call without arguments has none", async () => {
    for (const args of [undefined, null, "null", "{}", " {\n}"])
      expect(
        await resultOf({ method: "tools/call", params: { name: "getKey", arguments: args } }),
        String(args),
      ).toHaveProperty("structuredContent");
    const { response, text } = await post({ body: '{"jsonrpc":"2.0","id":1,"method":"ping","params":null}' });
    expect([response.status, text]).toEqual([200, '{"jsonrpc":"2.0","id":1,"result":{}}']);
  });
});

describe("before the message", () => {
  test("the key comes before everything but the origin", async () => {
    for (const body of ["{", "[]"]) {
      const headers = { "Content-Type": "text/plain" };
      const without = await call("/mcp", { method: "POST", body, headers });
      await expectError(without, "unauthorized");
      expect(without.headers.get("WWW-Authenticate")).toBe('Bearer realm="petstore"');
      await expectError(await call("/mcp", { method: "POST", key: generateKey("local"), body }), "unauthorized");
    }
  });

  test("a customer token is refused, whatever it asks for", async () => {
    const token = await grantToken(key);
    for (const body of [rpc({}), rpc(LIST), rpc({ method: "tools/call", params: { name: "getKey" } }), { body: "{" }]) {
      const response = await call("/mcp", { method: "POST", key: token, ...body });
      expect(await expectError(response, "insufficient_scope")).toBe("Customer tokens cannot use this operation.");
    }
  });

  test("only POST is there", async () => {
    for (const method of ["GET", "DELETE", "PUT", "PATCH"]) {
      const response = await call("/mcp", { method, key });
      await expectError(response, "method_not_allowed");
      expect(response.headers.get("Allow")).toBe("POST, OPTIONS");
      await expectError(await call("/mcp", { method }), "unauthorized");
    }
    for (const path of ["/mcp/", "/mcp/x", "/MCP", "/tools.json", "/.well-known/oauth-protected-resource"])
      await expectError(await call(path, { key }), "not_found");
  });

  test("a body has to be JSON of at most 64 KiB", async () => {
    const text = { body: "{}", headers: { "Content-Type": "text/event-stream" } };
    const response = await call("/mcp", { method: "POST", key, ...text });
    await expectError(response, "unsupported_media_type");
    expect(response.headers.get("Accept-Post")).toBe("application/json");
    const zipped = { body: "{}", headers: { "Content-Encoding": "gzip" } };
    await expectError(await call("/mcp", { method: "POST", key, ...zipped }), "unsupported_media_type");
    const ping = (bytes: number) => {
      const [before, after] = ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', '"}}'];
      return { body: `${before}${"x".repeat(bytes - before.length - after.length)}${after}` };
    };
    expect((await post(ping(MAX_BODY_BYTES))).response.status).toBe(200);
    await expectError(await call("/mcp", { method: "POST", key, ...ping(MAX_BODY_BYTES + 1) }), "payload_too_large");
  });

  test("a body that stays incomplete is a 408", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { body, write } = openBody();
    const response = call("/mcp", { method: "POST", key, body });
    await write("{");
    await vi.advanceTimersByTimeAsync(BODY_TIMEOUT_MILLISECONDS);
    await expectError(await response, "request_timeout");
  });

  test("deep and wide values take part in nothing", async () => {
    const deep = `${"[".repeat(30_000)}${"]".repeat(30_000)}`;
    const at = (place: string, value = deep) =>
      post({ body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${place}${value}}}` });
    for (const place of ['"name":"getKey","_meta":', '"name":"getKey","x":'])
      expect((await at(place)).response.status, place).toBe(200);
    for (const place of [
      '"name":"createPets","arguments":{"idempotencyKey":"k","items":',
      '"name":"listPets","arguments":{"q":',
    ]) {
      const answer = await at(place, `${deep}}`);
      expect(answer.response.status, place).toBe(200);
      expect(answer.text).toContain("invalid_request");
      expect(answer.text.length).toBeLessThan(3_000);
    }
    expectRpcError(await post({ body: `{"jsonrpc":"2.0","id":${deep},"method":"ping"}` }), 400, -32_600, null);
    const wide = Object.fromEntries(Array.from({ length: 4_000 }, (_, place) => [`argument${place}`, place]));
    const { text } = await ask({ method: "tools/call", params: { name: "getKey", arguments: wide } });
    expect(text.length).toBeLessThan(3_000);
  });
});

describe("origins", () => {
  const from = (Origin: string, more: object = {}) =>
    call("/mcp", { method: "POST", key, ...rpc({}), ...more, headers: { Origin } });

  test.each(["http://localhost", "https://localhost:5173", "http://127.0.0.1:8787", "http://[::1]:3000"])(
    "a page of this machine may call: %s",
    async (origin) => expect((await from(origin)).status).toBe(200),
  );

  const FOREIGN = [
    "https://evil.example",
    "null",
    "http://localhost.evil.example",
    "http://127.0.0.1.evil.example:80",
    "http://evil.example#http://localhost",
    "http://user@localhost",
    "http://[::1].evil.example",
    "file://localhost",
    "http://localhost:",
    "",
  ];
  test.each(FOREIGN)("no other page may, with a good key: %j", async (origin) => {
    // With DNS rebinding, the host is that of the page.
    const host = URL.canParse(origin) && new URL(origin).host !== "" ? new URL(origin).host : "evil.example";
    const response = await from(origin, { host });
    expect(await expectError(response, "origin_not_allowed")).toBe("Pages of this origin may not use /mcp.");
    for (const method of ["GET", "OPTIONS"])
      await expectError(
        await call("/mcp", { method, headers: { Origin: origin, "Access-Control-Request-Method": "POST" } }),
        "origin_not_allowed",
      );
  });

  test("an operator adds origins, and a mistake adds none", async () => {
    const bindings = (setting: string) => ({ bindings: { MCP_ORIGINS: setting } as unknown as Partial<Env> });
    const good = bindings("https://a.example, https://chat.example:8443");
    expect((await from("https://chat.example:8443", good)).status).toBe(200);
    expect((await from("https://a.example", good)).status).toBe(200);
    for (const origin of ["https://chat.example", "http://a.example", "https://b.a.example"])
      await expectError(await from(origin, good), "origin_not_allowed");
    for (const setting of ["*", "https://b.example/", "https://*.example", "https://b.example;https://a.example"])
      await expectError(await from("https://b.example", bindings(setting)), "origin_not_allowed");
  });

  test("the headers of the protocol pass a preflight", async () => {
    const response = await call("/mcp", {
      method: "OPTIONS",
      headers: { Origin: "http://localhost:6274", "Access-Control-Request-Method": "POST" },
    });
    expect(response.status).toBe(204);
    const allowed = response.headers.get("Access-Control-Allow-Headers")?.split(",");
    expect(allowed).toEqual(expect.arrayContaining(["MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"]));
  });
});

describe("the limit and the log", () => {
  /** A rate limiter that refuses after so many requests. */
  const limiter = (limit: number) => {
    const counted = { count: 0 };
    const RATE_LIMITER = { limit: () => Promise.resolve({ success: ++counted.count <= limit }) };
    return { counted, more: { bindings: { RATE_LIMITER } } };
  };

  test("every message counts once, also a refused one", async () => {
    const { counted, more } = limiter(Infinity);
    const bodies = [rpc({}), rpc(LIST), rpc({ method: "x" }), { body: "{" }, { body: "[]" }, rpc({ id: null })];
    const calls = [{ name: "getKey" }, { name: "getKey", arguments: { x: 1 } }, { name: "none" }].map((params) =>
      rpc({ method: "tools/call", params }),
    );
    const large = { body: "x".repeat(MAX_BODY_BYTES + 1) };
    for (const [place, body] of [...bodies, ...calls, json({ jsonrpc: "2.0", method: "x" })].entries()) {
      await post({ ...more, ...body });
      expect(counted.count, JSON.stringify(body)).toBe(place + 1);
    }
    const before = counted.count;
    await expectError(await call("/mcp", { method: "POST", key, ...large, ...more }), "payload_too_large");
    expect(counted.count).toBe(before + 1);
    const reader = { key: await grantKey({ scopes: ["pets:read"] }), ...more };
    await refusalOf("deletePet", { petId: "1" }, "insufficient_scope", reader);
    expect(counted.count).toBe(before + 2);
  });

  // Promise: failures-of-tools
  test("beyond the limit, a message is a 429, and a call has it as its result", async () => {
    const { more } = limiter(0);
    for (const body of [rpc(LIST), { body: "{" }, rpc({ method: "tools/call", params: { name: "none" } })]) {
      const response = await call("/mcp", { method: "POST", key, ...more, ...body });
      await expectError(response, "rate_limited");
      expect(response.headers.get("Retry-After")).toBe("60");
    }
    const without = { key: await grantKey({ scopes: [] }), ...more };
    const listing = rpc({ method: "tools/call", params: { name: "listPets" } });
    await expectError(await call("/mcp", { method: "POST", ...listing, ...without }), "rate_limited");
    const result = await callTool("getKey", {}, more);
    expect(JSON.parse(result.content[0]?.text ?? "")).toEqual({
      code: "rate_limited",
      message: "Too many requests with this API key. Slow down.",
      status: 429,
      retryAfter: 60,
    });
  });

  test("a line says that an agent came, and why a message failed", async () => {
    const { log } = await linesOf(async () => {
      await post(rpc(LIST));
      await post(rpc({ method: "x" }));
      await ask({ method: "tools/call", params: { name: "getKey", arguments: { secret: "Text-Of-Client" } } });
      await post({ body: "{" });
    });
    const fields = log.map(({ method, route, status, agent, errorCode, keyId }) => [
      method,
      route,
      status,
      agent,
      errorCode,
      typeof keyId,
    ]);
    expect(fields).toEqual([
      ["POST", "/mcp", 200, true, undefined, "string"],
      ["POST", "/mcp", 200, true, "-32601", "string"],
      ["POST", "/mcp", 200, true, "invalid_request", "string"],
      ["POST", "/mcp", 400, true, "-32700", "string"],
    ]);
    expect(JSON.stringify(log)).not.toContain("Text-Of-Client");
  });

  test("a key that ends while the body arrives, or after that, is a 401 over HTTP", async () => {
    const start = Date.now();
    vi.useFakeTimers({ now: start, toFake: ["Date"] });
    const short = await grantKey({ expiresAt: new Date(start + 5_000).toISOString() });
    const message = JSON.stringify(messageCall({ method: "tools/call", params: { name: "getKey" } }).body);
    const { body, write, close } = openBody();
    const response = call("/mcp", { method: "POST", key: short, body });
    await write(message.slice(0, 10));
    vi.setSystemTime(start + 5_000);
    await write(message.slice(10));
    await close();
    await expectError(await response, "unauthorized");

    vi.setSystemTime(start);
    const app = createApp();
    const service: Parameters<typeof endpoint>[0] = (...request) => {
      vi.setSystemTime(start + 5_000);
      return app.fetch(...request);
    };
    const slow = createRoutes();
    slow.use(lifecycle).post("/mcp", endpoint(service));
    const headers = { Authorization: `Bearer ${short}`, "Content-Type": "application/json" };
    const request = new Request("https://pets.example/mcp", { method: "POST", headers, body: message });
    const refusal = await slow.fetch(request, env, createExecutionContext());
    expect(refusal.headers.get("WWW-Authenticate")).toContain('error="invalid_token"');
    await expectError(refusal, "unauthorized");
  });
});
