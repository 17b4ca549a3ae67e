import { env } from "cloudflare:workers";
import { afterEach, describe, expect, test, vi } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { call, expectError } from "../support/client.ts";
import { key, storeKey } from "../support/keys.ts";
import { openBody } from "../support/open-body.ts";
import { OPERATIONS } from "../support/operations.ts";

const REX = '{"name": "Rex", "categoryId": 7}';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

async function countPets(): Promise<number | null> {
  return env.DB.prepare("SELECT count(*) AS n FROM pets").first<number>("n");
}

describe("a body", () => {
  test.each(["gzip", "br", "deflate, gzip", "identity, gzip", "x"])(
    "cannot have the Content-Encoding %s",
    async (coding) => {
      const response = await call("/v1/pets", {
        method: "POST",
        key,
        body: REX,
        headers: { "Content-Encoding": coding },
      });
      expect(await expectError(response, "unsupported_media_type")).toBe(
        "The request body has to be sent without a Content-Encoding.",
      );
      expect(response.headers.get("Accept-Encoding")).toBe("identity");
    },
  );

  test.each(["identity", "Identity"])("may have the Content-Encoding %s", async (coding) => {
    const response = await call("/v1/pets", {
      method: "POST",
      key,
      body: REX,
      headers: { "Content-Encoding": coding },
    });
    expect(response.status).toBe(201);
  });

  test("of many small chunks is read in one piece", async () => {
    const reads = vi.spyOn(ReadableStreamBYOBReader.prototype, "readAtLeast");
    const { body, write, close } = openBody();
    const response = call("/v1/pets", { method: "POST", key, body });
    for (const character of REX.padEnd(2_000)) await write(character);
    await close();
    expect((await response).status).toBe(201);
    expect(reads.mock.calls.length).toBe(1);
  });

  // A Content-Length may be exact, lie, or be absent, also from a stream.
  test.each([undefined, "exact", "10", "x", "stream"])(
    "may have 64 KiB, and not a byte more: %s",
    async (announced) => {
      const send = (bytes: number) => {
        const text = REX.padEnd(bytes);
        const stream = () => new Blob([text]).stream().pipeThrough(new IdentityTransformStream());
        const length = announced === "exact" ? String(bytes) : announced;
        const headers = length === undefined || length === "stream" ? {} : { "Content-Length": length };
        const body = announced === "stream" ? stream() : text;
        return call("/v1/pets", { method: "POST", key, body, headers });
      };
      expect((await send(65_536)).status).toBe(201);
      await expectError(await send(65_537), "payload_too_large");
    },
  );

  test("may begin with a byte order mark (RFC 8259, section 8.1)", async () => {
    const response = await call("/v1/pets", { method: "POST", key, body: `\ufeff${REX}` });
    expect(response.status).toBe(201);
  });

  test.each([
    ["expired", 5_000, (start: number) => ({ expiresAt: new Date(start + 5_000).toISOString() }), {}],
    // The isolate reads the record again after 30 seconds.
    ["was revoked", 30_000, () => ({}), { revokedAt: "2026-01-02T00:00:00.000Z" }],
  ])("that arrives after its key %s creates nothing", async (_, milliseconds, given, change) => {
    const start = Date.now();
    vi.useFakeTimers({ now: start, toFake: ["Date"] });
    const ending = generateKey("local");
    const record = {
      id: "x",
      name: "x",
      scopes: ["pets:write"],
      createdAt: "2026-01-01T00:00:00.000Z",
      ...given(start),
    };
    await storeKey(ending, record);
    const before = await countPets();
    const { body, write, close } = openBody();
    const response = call("/v1/pets", { method: "POST", key: ending, body });
    await write(REX.slice(0, 10));
    await storeKey(ending, { ...record, ...change });
    vi.setSystemTime(start + milliseconds);
    await write(REX.slice(10));
    await close();
    await expectError(await response, "unauthorized");
    expect((await response).headers.get("WWW-Authenticate")).toContain('error="invalid_token"');
    expect(await countPets()).toBe(before);
  });

  test("that is not complete within ten seconds is 408", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const before = await countPets();
    const { body, write } = openBody();
    const response = call("/v1/pets", { method: "POST", key, body });
    await write(REX.slice(0, 10));
    let responded = false;
    void response.finally(() => {
      responded = true;
    });
    await vi.advanceTimersByTimeAsync(9_999);
    expect(responded).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await expectError(await response, "request_timeout")).toBe(
      "The request body was not complete within 10 seconds.",
    );
    expect(await countPets()).toBe(before);
  });
});

test("the rest of a body that is too large is read up to a limit", async () => {
  const { body, write } = openBody();
  const response = call("/v1/pets", { method: "POST", key, body });
  let sent = 0;
  const sending = (async () => {
    for (; sent < 400 * 1024; sent += 16 * 1024) await write("x".repeat(16 * 1024));
  })();
  await Promise.race([response, sending]);
  void sending.catch(() => {});
  await expectError(await response, "payload_too_large");
  // The limit of 64 KiB and one byte, and then 256 KiB more.
  expect(sent).toBeGreaterThan(256 * 1024);
});

describe("a body that the response does not need", () => {
  test.each([
    ["a refusal", "POST", "/v1/pets"],
    ["an unknown path", "PUT", "/nothing"],
    ["another method", "POST", "/health"],
  ])("is read before the response goes out, but no more than 256 KiB of it: %s", async (_, method, path) => {
    const { body, write } = openBody();
    const response = call(path, { method, body, headers: { "Content-Type": "application/json" } });
    const piece = "x".repeat(16 * 1024);
    let read = 0;
    const sending = (async () => {
      for (;;) {
        await write(piece);
        read += piece.length;
      }
    })();
    await Promise.race([response, sending]);
    // The stream ends with the request.
    void sending.catch(() => {});
    // The last chunk may still be in transit.
    expect(read).toBeGreaterThan(224 * 1024);
    expect(read).toBeLessThanOrEqual(256 * 1024);
  });
});

describe.each(OPERATIONS.filter(({ request }) => request.body !== undefined))(
  "$name lists its media types",
  ({ name, method, path, request }) => {
    const isMerge = method === "PATCH" && name !== "updatePets";
    const types = isMerge ? "application/merge-patch+json, application/json" : "application/json";
    const header = method === "PATCH" ? "Accept-Patch" : "Accept-Post";

    // Promise: accepted-media-types
    test("in a 415 response", async () => {
      const headers = { "Content-Type": "application/json-patch+json" };
      const response = await call(path, { ...request, key, headers });
      await expectError(response, "unsupported_media_type");
      expect(response.headers.get("Accept")).toBe(types);
      expect(response.headers.get(header)).toBe(types);
    });

    test("in the response to OPTIONS", async () => {
      const response = await call(path, { method: "OPTIONS", key });
      expect(response.status).toBe(204);
      expect(response.headers.get(header)).toBe(types);
    });
  },
);
