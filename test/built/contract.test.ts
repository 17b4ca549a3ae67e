import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOCAL_API_KEY } from "../../scripts/local-state.ts";
import { type BuiltService, startBuiltService } from "./service.ts";
import { exchange, parseResponse } from "./socket.ts";

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(() => service.harness.close());

function request(path: string, init: RequestInit = {}, key = service.key): Promise<Response> {
  const headers = new Headers(init.headers);
  headers.set("Authorization", `Bearer ${key}`);
  return fetch(new URL(path, service.url), { ...init, headers });
}

const post = (body: BodyInit) =>
  request("/v1/pets", { method: "POST", body, headers: { "Content-Type": "application/json" } });

/** Sends a request line by line, and returns the answer with its body parsed. */
async function send(lines: string[], body = "", until?: RegExp) {
  const head = [...lines, `Host: ${service.url.host}`, "Connection: close"].join("\r\n");
  const response = parseResponse(await exchange(service.url, Buffer.from(`${head}\r\n\r\n${body}`), { until }));
  return { ...response, body: JSON.parse(response.body) as unknown };
}

test("an animal is created, listed and fetched", async () => {
  const created = await post('{"name": "Émile 🐍", "categoryId": 9007199254740993}');
  expect(created.status).toBe(201);
  expect(created.headers.get("Location")).toBe("/v1/pets/1");
  const animal = '{"id":1,"name":"Émile 🐍","categoryId":9007199254740993,"status":"available"}';
  expect(await created.text()).toBe(animal);

  const listed = await request("/v1/pets?status=available&limit=1");
  expect(listed.status).toBe(200);
  expect(await listed.text()).toBe(`[${animal}]`);

  const fetched = await request("/v1/pets/1");
  expect(fetched.status).toBe(200);
  expect(fetched.headers.get("Sunset")).toBe("Thu, 05 Dec 2030 00:00:00 GMT");
  expect(await fetched.text()).toBe(animal);
});

test("the next page is at the address that the client called", async () => {
  await post('{"name": "Rex", "categoryId": 1}');
  const first = await request("/v1/pets?limit=1");
  const next = /^<(.+)>; rel="next"$/.exec(first.headers.get("Link") ?? "")?.[1] ?? "";
  expect(next).toMatch(new RegExp(`^${service.url.origin}/v1/pets\\?limit=1&cursor=`));
  expect(await (await request(next)).json()).toMatchObject([{ name: "Rex" }]);
});

test("the key of local development opens nothing in production", async () => {
  const { API_KEYS } = await service.worker.getEnv();
  const { keyRecordName } = await import("../../src/auth/key-record.ts");
  await API_KEYS.put(
    await keyRecordName(LOCAL_API_KEY),
    JSON.stringify({ id: "x", name: "x", scopes: ["pets:read"], createdAt: "2026-01-01T00:00:00.000Z" }),
  );
  const response = await request("/v1/pets", {}, LOCAL_API_KEY);
  expect(response.status).toBe(401);
  expect(response.headers.get("WWW-Authenticate")).toContain('error="invalid_token"');
});

test("the limit of a thousand requests a minute holds for one key alone", async () => {
  const env = await service.worker.getEnv();
  const { success } = await env.RATE_LIMITER.limit({ key: "probe" });
  expect(success).toBe(true);
  const answers = await Promise.all(
    Array.from({ length: 1_000 }, () => env.RATE_LIMITER.limit({ key: "flood" }).then((answer) => answer.success)),
  );
  expect(answers.filter(Boolean)).toHaveLength(1_000);
  expect((await env.RATE_LIMITER.limit({ key: "flood" })).success).toBe(false);
  expect((await env.RATE_LIMITER.limit({ key: "probe" })).success).toBe(true);
});

describe("over a raw socket", () => {
  const body = '{"name":"Rex","categoryId":1}';
  const jsonType = "Content-Type: application/json";
  const authorization = () => `Authorization: Bearer ${service.key}`;
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;

  test("a chunked body is read", async () => {
    const response = await send(
      ["POST /v1/pets HTTP/1.1", authorization(), jsonType, "Transfer-Encoding: chunked"],
      `${chunk(body.slice(0, 10))}${chunk(body.slice(10))}0\r\n\r\n`,
    );
    expect(response).toMatchObject({ status: 201, body: { name: "Rex", categoryId: 1 } });
  });

  test("a chunked body over 64 KiB is 413", async () => {
    const response = await send(
      ["POST /v1/pets HTTP/1.1", authorization(), jsonType, "Transfer-Encoding: chunked"],
      `${chunk(" ".repeat(8192)).repeat(9)}0\r\n\r\n`,
    );
    expect(response).toMatchObject({ status: 413, body: { code: "payload_too_large", status: 413 } });
  });

  test("a body that is announced too large is 413 before it is sent", async () => {
    const response = await send(
      ["POST /v1/pets HTTP/1.1", authorization(), jsonType, "Content-Length: 1000000"],
      "",
      /"status":413\}/,
    );
    expect(response).toMatchObject({ status: 413, body: { code: "payload_too_large", status: 413 } });
  });

  test("an answer that needs no body arrives, however much of one is sent", async () => {
    const size = 1_000_000;
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => send(["PUT /nothing HTTP/1.1", `Content-Length: ${size}`], " ".repeat(size))),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([404]));
  });

  test("a body without a media type is 415", async () => {
    const response = await send(["POST /v1/pets HTTP/1.1", authorization(), `Content-Length: ${body.length}`], body);
    expect(response).toMatchObject({ status: 415, body: { code: "unsupported_media_type", status: 415 } });
  });

  test("no body at all is 400", async () => {
    const response = await send(["POST /v1/pets HTTP/1.1", authorization(), jsonType, "Content-Length: 0"]);
    expect(response).toMatchObject({ status: 400, body: { code: "invalid_request", status: 400 } });
  });

  test("two Authorization headers are no key", async () => {
    const response = await send(["GET /v1/pets HTTP/1.1", authorization(), authorization()]);
    expect(response).toMatchObject({ status: 401, body: { code: "unauthorized", status: 401 } });
  });

  test("bytes beyond ASCII in a header are an answer like others", async () => {
    const response = await send(["GET /v1/pets HTTP/1.1", "Authorization: Bearer p\u00e9tstore"]);
    expect(response).toMatchObject({ status: 401, body: { code: "unauthorized", status: 401 } });
  });

  test("an unknown method is 405", async () => {
    const response = await send(["PROPFIND /v1/pets HTTP/1.1", authorization()]);
    expect(response).toMatchObject({ status: 405, body: { code: "method_not_allowed", status: 405 } });
    expect(response.headers.get("Allow")).toBe("GET, HEAD, POST");
  });

  test.each([
    ["/v1/%70ets/%31", 200],
    ["/v1/../v1/pets/1", 200],
    ["/v1/pets/%zz", 404],
    ["/v1/pets/%00", 404],
  ])("%s is what it decodes to", async (path, status) => {
    expect(await send([`GET ${path} HTTP/1.1`, authorization()])).toMatchObject({ status });
  });
});
