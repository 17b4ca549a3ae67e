import { connect } from "node:net";
import { describe, expect, test } from "vitest";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { useBuiltService } from "./service.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { expectDocumented } from "../support/contract.ts";

const service = useBuiltService();

/** Sends a request with a key, and asserts that the document describes the response. */
async function request(path: string, init: RequestInit = {}, key = service.key): Promise<Response> {
  const url = new URL(path, service.url).href;
  const response = await fetch(url, { ...init, headers: { ...init.headers, Authorization: `Bearer ${key}` } });
  await expectDocumented(init.method ?? "GET", url, response);
  return response;
}

const post = (body: BodyInit) =>
  request("/v1/pets", { method: "POST", body, headers: { "Content-Type": "application/json" } });

/** The log of the service, one object per line. */
function logLines(): Record<string, unknown>[] {
  return service.harness
    .getLogs()
    .map(({ message }) => message)
    .filter((message) => message.startsWith("{"))
    .map((message) => JSON.parse(message));
}

/** Milliseconds without a byte after which a connection is given up. */
const IDLE_LIMIT = 10_000;

/**
 * Sends raw bytes, which a client library would correct, and returns everything that the server sends before it closes the
 * connection.
 *
 * @param until hang up as soon as the response matches this.
 * @param end tell the server that the request is complete.
 */
function exchange(
  url: URL,
  bytes: Uint8Array,
  { until, end = false }: { until?: RegExp | undefined; end?: boolean } = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    let received = "";
    const socket = connect(Number(url.port), url.hostname, () => (end ? socket.end(bytes) : socket.write(bytes)));
    socket.setEncoding("utf8");
    socket.setTimeout(IDLE_LIMIT, () => socket.destroy(new Error("The server neither responded nor hung up")));
    socket.on("data", (text: string) => {
      received += text;
      if (until?.test(received)) socket.destroy();
    });
    socket.on("close", () => resolve(received));
    // A server may respond and reset the connection while the request is still being sent.
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
  });
}

/** Parses an HTTP/1.1 response and decodes its chunks (RFC 9112, section 7.1). */
function parseResponse(text: string) {
  const end = text.indexOf("\r\n\r\n");
  const [statusLine = "", ...fields] = text.slice(0, end).split("\r\n");
  const headers = new Headers();
  for (const field of fields) {
    const colon = field.indexOf(":");
    headers.append(field.slice(0, colon), field.slice(colon + 1).trim());
  }
  let body = text.slice(end + 4);
  if (headers.get("Transfer-Encoding") === "chunked") body = body.replace(/(?:^|\r\n)[0-9a-f]+\r\n/gi, "").trim();
  return { status: Number(statusLine.split(" ")[1]), headers, body };
}

/** Sends a request line by line. Returns the response with its body parsed. */
async function send(lines: string[], body = "", until?: RegExp) {
  const head = [...lines, `Host: ${service.url.host}`, "Connection: close"].join("\r\n");
  const response = parseResponse(await exchange(service.url, Buffer.from(`${head}\r\n\r\n${body}`), { until }));
  return { ...response, body: JSON.parse(response.body) as unknown };
}

test("the longest link to a next page is as long as the document says", async () => {
  for (let id = 1; id <= 2; id++) await post('{"name": "Rex", "categoryId": 1}');
  const ids = ["1", "2", ...Array<string>(98).fill(String(-(2n ** 63n)))].map((id) => `id=${id}`);
  const path = `/v1/pets?limit=1&${ids.join("&")}`;
  const ask = (length: number) => {
    const host = "a".repeat(length - "http://".length - path.length);
    const lines = [
      `GET ${path} HTTP/1.1`,
      `Authorization: Bearer ${service.key}`,
      `Host: ${host}`,
      "Connection: close",
    ];
    return exchange(service.url, Buffer.from(`${lines.join("\r\n")}\r\n\r\n`)).then(parseResponse);
  };
  // The longest address that the service accepts.
  const { status, headers, body } = await ask(4_096);
  await expectDocumented("GET", service.url.origin + path, new Response(body, { status, headers }));
  expect(status).toBe(200);
  expect(headers.get("Link")).toHaveLength(document.components.headers.Link.schema.maxLength);
  expect((await ask(4_097)).status).toBe(400);
});

test("the key of local development is refused in production", async () => {
  await grantProductionKey(service.worker, LOCAL_API_KEY);
  const response = await request("/v1/pets", {}, LOCAL_API_KEY);
  expect(response.status).toBe(401);
  expect(response.headers.get("WWW-Authenticate")).toContain('error="invalid_token"');
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

  const POST = "POST /v1/pets HTTP/1.1";
  const GET = "GET /v1/pets HTTP/1.1";
  test.each<[name: string, lines: (string | typeof authorization)[], body: string, status: number, code: string]>([
    [
      "a chunked body over 64 KiB",
      [POST, authorization, jsonType, "Transfer-Encoding: chunked"],
      `${chunk(" ".repeat(8192)).repeat(9)}0\r\n\r\n`,
      413,
      "payload_too_large",
    ],
    ["no media type", [POST, authorization, `Content-Length: ${body.length}`], body, 415, "unsupported_media_type"],
    ["no body", [POST, authorization, jsonType, "Content-Length: 0"], "", 400, "invalid_request"],
    ["two Authorization headers", [GET, authorization, authorization], "", 401, "unauthorized"],
    ["bytes beyond ASCII", [GET, "Authorization: Bearer p\u00e9tstore"], "", 401, "unauthorized"],
    ["an unknown method", ["PROPFIND /v1/pets HTTP/1.1", authorization], "", 405, "method_not_allowed"],
  ])("%s gets an ordinary response", async (_name, lines, sent, status, code) => {
    const response = await send(
      lines.map((line) => (typeof line === "string" ? line : line())),
      sent,
    );
    expect(response).toMatchObject({ status, body: { code, status } });
  });

  test("a Content-Length above the limit is 413 before the body is sent", async () => {
    const response = await send(
      ["POST /v1/pets HTTP/1.1", authorization(), jsonType, "Content-Length: 1000000"],
      "",
      /"status":413\}/,
    );
    expect(response).toMatchObject({ status: 413, body: { code: "payload_too_large", status: 413 } });
  });

  test("a response that needs no body arrives, however much of it is sent", async () => {
    const size = 300_000;
    const requests = {
      "PUT /nothing": 404,
      "POST /health": 405,
      "GET /health": 200,
      "GET /v1/pets": 200,
      "DELETE /v1/pets": 405,
    };
    const answers = await Promise.all(
      Object.entries(requests).flatMap(([line, status]) =>
        [1, 2, 3].map(async () => {
          const lines = [`${line} HTTP/1.1`, authorization(), `Content-Length: ${size}`];
          return { line, expected: status, ...(await send(lines, " ".repeat(size))) };
        }),
      ),
    );
    for (const { line, expected, status } of answers) expect(status, line).toBe(expected);
  });

  test("a client that hangs up in the middle of a body causes no failure", async () => {
    service.harness.clearLogs();
    await exchange(
      service.url,
      Buffer.from(
        `POST /v1/pets HTTP/1.1\r\nHost: x\r\n${authorization()}\r\n${jsonType}\r\nContent-Length: 100\r\n\r\n{`,
      ),
      { end: true },
    );
    await expect.poll(() => logLines().filter(({ route }) => route === "/v1/pets")).toHaveLength(1);
    expect(logLines()).toEqual([expect.objectContaining({ level: "info", status: 400 })]);
  });

  // Workers do not see a header without a value (docs/guarantees.md).
  // Promise: an-empty-if-match
  test("an If-Match without a value counts as absent", async () => {
    const created = await post('{"name": "Rex", "categoryId": 1}');
    const path = created.headers.get("Location");
    const body = '{"name": "Max"}';
    const head = [`PATCH ${path} HTTP/1.1`, authorization(), jsonType, `Content-Length: ${body.length}`];
    expect(await send([...head, 'If-Match: "2"'], body)).toMatchObject({ status: 412 });
    expect(await send([...head, "If-Match:"], body)).toMatchObject({ status: 200, body: { name: "Max" } });
    expect(await send([`DELETE ${path} HTTP/1.1`, authorization(), 'If-Match: "1"'])).toMatchObject({ status: 412 });
  });

  test.each([
    ["/v1/%70ets/%31", 200],
    ["/v1/../v1/pets/1", 200],
    ["/v1/pets/%zz", 404],
    ["/v1/pets/%00", 404],
  ])("%s is what it decodes to", async (path, status) => {
    await post('{"name": "Rex", "categoryId": 1}');
    expect(await send([`GET ${path} HTTP/1.1`, authorization()])).toMatchObject({ status });
  });
});
