import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ERRORS } from "../../src/errors.ts";
import { grantProductionKey } from "../../scripts/production-service.ts";
import { type BuiltService, startBuiltService } from "../built/service.ts";
import { exchange, parseResponse, type RawResponse } from "../built/socket.ts";

/** `npm run test:fuzz` sends 20,000. */
const REQUESTS = Number(process.env["FUZZ_REQUESTS"] ?? 1_000);
const SEED = Number(process.env["FUZZ_SEED"] ?? 20_301_205);
const CONNECTIONS = 16;
/** Milliseconds. */
const TIME_LIMIT = 600_000;
/** Enough that no key meets its limit of a thousand requests a minute. */
const KEYS = 40;

let service: BuiltService;
let keys: string[];
beforeAll(async () => {
  service = await startBuiltService();
  keys = await Promise.all(Array.from({ length: KEYS }, () => grantProductionKey(service.worker)));
});
afterAll(() => service.harness.close());

interface FuzzRequest {
  method: string;
  path: string;
  headers: [string, string][];
  body: Uint8Array | undefined;
}

const utf8 = (text: string) => new TextEncoder().encode(text);

// Anything that HTTP permits (RFC 9110, sections 5.5, 5.6.2 and 9.1), because other requests do not reach the Worker.
const anyToken = fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/);
const anyFieldValue = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e\t]{0,60}[\x21-\x7e])?$/);
// The characters of a path (RFC 3986, section 3.3), including percent signs without an encoding.
const anyPath = fc.stringMatching(/^[\w.~!$&'()*+,;=:@/%-]{0,40}$/).map((path) => `/${path}`);
const anyQueryValue = fc.stringMatching(/^[\w.~!$'()*+,;:@/?%-]{0,20}$/);

const animal = fc.tuple(fc.string({ unit: "binary", maxLength: 300 }), fc.bigInt(), fc.string({ maxLength: 1 }));
const jsonText = fc.oneof(
  {
    weight: 5,
    arbitrary: animal.map(([name, id]) => `{"name":${JSON.stringify(name)},"categoryId":${id % 2n ** 53n}}`),
  },
  animal.map(([name, id, status]) => `{"name":${JSON.stringify(name)},"categoryId":${id},"status":"${status}"}`),
  fc.json(),
);
const body = fc.oneof(
  { weight: 5, arbitrary: jsonText.map(utf8) },
  fc.tuple(jsonText.map(utf8), fc.nat(), fc.nat({ max: 255 })).map(([bytes, index, byte]) => {
    if (bytes.length > 0) bytes[index % bytes.length] = byte;
    return bytes;
  }),
  fc.uint8Array({ maxLength: 400 }),
  fc.integer({ min: 65_000, max: 70_000 }).map((length) => new Uint8Array(length).fill(0x20)),
);

const headers = fc.array(
  fc.oneof(
    fc.tuple(
      fc.constantFrom("Idempotency-Key", "x-d1-bookmark", "X-Request-Id", "Accept", "Range", "If-None-Match", "Origin"),
      anyFieldValue,
    ),
    fc.tuple(fc.constant("x-d1-bookmark"), fc.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/)),
    fc.tuple(
      anyToken.map((token) => `X-${token}`),
      anyFieldValue,
    ),
  ),
  { maxLength: 5 },
);

const request: fc.Arbitrary<FuzzRequest> = fc.record({
  method: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom("GET", "POST", "HEAD") },
    fc.constantFrom("PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "QUERY"),
  ),
  path: fc.oneof(
    { weight: 6, arbitrary: fc.constant("/v1/pets") },
    {
      weight: 6,
      arbitrary: fc
        .tuple(fc.constantFrom("pets?limit", "pets?status", "pets?cursor", "store/orders?reference"), anyQueryValue)
        .map(([query, value]) => `/v1/${query}=${value}`),
    },
    { weight: 3, arbitrary: fc.oneof(fc.nat().map(String), anyPath).map((id) => `/v1/pets/${id}`) },
    anyPath,
    anyPath.map((path) => `/v1${path}`),
  ),
  headers,
  body: fc.option(body, { nil: undefined }),
});

function serialise({ method, path, headers, body }: FuzzRequest, index: number): Uint8Array {
  const key = keys[index % KEYS];
  // One in ten has random credentials or none.
  const authorization = index % 10 === 0 ? `Bearer ${key}x` : index % 10 === 1 ? undefined : `Bearer ${key}`;
  const contentType = index % 5 === 0 ? undefined : index % 7 === 0 ? "text/plain" : "application/json";
  const chunked = body !== undefined && index % 3 === 0;
  const lines = [
    `${method} ${path} HTTP/1.1`,
    `Host: ${service.url.host}`,
    "Connection: close",
    ...(authorization === undefined ? [] : [`Authorization: ${authorization}`]),
    ...(contentType === undefined ? [] : [`Content-Type: ${contentType}`]),
    ...headers.map(([name, value]) => `${name}: ${value}`),
    ...(body === undefined ? [] : [chunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`]),
  ];
  const payload = body ?? new Uint8Array();
  const chunk = payload.length === 0 ? [] : [utf8(`${payload.length.toString(16)}\r\n`), payload, utf8("\r\n")];
  const sent = chunked ? [...chunk, utf8("0\r\n\r\n")] : [payload];
  return Buffer.concat([utf8(`${lines.join("\r\n")}\r\n\r\n`), ...sent]);
}

/** The fault of a response, or undefined. test/built/generated/requests.test.ts compares what succeeds with the document. */
function fault({ status, headers, body }: RawResponse, { method }: FuzzRequest): string | undefined {
  if (!headers.get("X-Request-Id")) return "no X-Request-Id";
  if (status < 400) return undefined;
  if (headers.get("Content-Type") !== "application/json") return "not JSON";
  if (method === "HEAD") return body === "" ? undefined : "a body for HEAD";
  const { code, message, ...rest } = JSON.parse(body) as { code: keyof typeof ERRORS; message: unknown };
  const whole = typeof message === "string" && JSON.stringify(rest) === `{"status":${status}}`;
  return whole && ERRORS[code].status === status && status < 500 ? undefined : "not the error envelope";
}

/** Runs `task` for every item, a few at a time. */
async function inParallel<Item>(items: Item[], task: (item: Item, index: number) => Promise<void>): Promise<void> {
  const queue = items.entries();
  const worker = async () => {
    for (const [index, item] of queue) await task(item, index);
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
}

test(
  `${REQUESTS} random requests get responses of the service, none of them a 5xx`,
  async () => {
    const statuses: Record<number, number> = {};
    const faults: unknown[] = [];
    await inParallel(fc.sample(request, { numRuns: REQUESTS, seed: SEED }), async (sent, index) => {
      const text = await exchange(service.url, serialise(sent, index)).catch(String);
      const response = parseResponse(text);
      statuses[response.status] = (statuses[response.status] ?? 0) + 1;
      const wrong = fault(response, sent);
      const shown = Buffer.from(serialise(sent, index)).toString().slice(0, 600);
      if (wrong !== undefined) faults.push({ wrong, index, shown, text: text.slice(-300) });
    });
    console.log("Answers by status", statuses);
    expect(faults.slice(0, 5)).toEqual([]);
    // Every status occurs, so the requests reach all parts of the service.
    for (const status of [200, 201, 400, 401, 404, 405, 413, 415]) {
      expect(statuses[status], `${status}`).toBeGreaterThan(0);
    }
  },
  TIME_LIMIT,
);

test(
  `${REQUESTS / 10} connections of random bytes do not stop the service`,
  async () => {
    const garbage = fc.sample(fc.uint8Array({ minLength: 1, maxLength: 300 }), { numRuns: REQUESTS / 10, seed: SEED });
    await inParallel(garbage, async (bytes) => {
      // With the end of a header section, so that the server responds.
      const answer = await exchange(service.url, Buffer.concat([bytes, utf8("\r\n\r\n")]), { end: true });
      expect(answer).not.toMatch(/^HTTP\/1\.1 5/);
    });
    const headers = { Authorization: `Bearer ${service.key}` };
    const response = await fetch(new URL("/v1/pets", service.url), { headers });
    expect(response.status).toBe(200);
  },
  TIME_LIMIT,
);
