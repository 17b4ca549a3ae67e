import { describe, expect, test } from "vitest";
import document from "../../public/openapi.json" with { type: "json" };
import { call, REQUEST_ID } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { linesOf } from "../support/log-lines.ts";
import { OPERATIONS } from "../support/operations.ts";

/** All response headers in the document, except those that a browser reads itself. */
const DOCUMENTED_HEADERS = new Set(
  Object.values(document.paths).flatMap((methods) =>
    Object.values(methods).flatMap(({ responses }: { responses: object }) =>
      Object.values(responses).flatMap(({ headers }: { headers: object }) =>
        Object.keys(headers ?? {})
          .map((name) => name.toLowerCase())
          .filter((name) => !["access-control-allow-origin", "cache-control"].includes(name)),
      ),
    ),
  ),
);

async function everyKindOfAnswer(headers: Record<string, string> = {}) {
  return [
    await call("/health", { headers }),
    await call("/nothing", { headers }),
    await call("/v1/pets", { headers }),
    await call("/v1/pets", { key, headers }),
    await call("/v1/pets/12345", { key, headers }),
    await call("/v1/pets", { key, method: "POST", body: { name: "Rex", categoryId: 1 }, headers }),
    await call("/v1/pets", { key, method: "POST", body: "{", headers }),
    await call("/v1/pets", { key, method: "PUT", headers }),
  ];
}

test("every response has the security headers", async () => {
  for (const { headers } of await everyKindOfAnswer()) {
    expect(headers.get("X-Content-Type-Options")).toBe("nosniff");
    expect(headers.get("Strict-Transport-Security")).toMatch(/^max-age=\d{8}/);
    expect(headers.get("Content-Security-Policy")).toBe("default-src 'none'; frame-ancestors 'none'");
    expect(headers.get("Cache-Control")).toMatch(/^(private, )?no-store$/);
    expect(headers.get("X-Powered-By")).toBeNull();
    expect(headers.get("Server")).toBeNull();
  }
});

test("the pages of the documentation load scripts and data from their own origin only", async () => {
  const sitemap = await (await call("/sitemap.xml")).text();
  const pages = [...sitemap.matchAll(/<loc>https?:\/\/[^/]+([^<]+)/g)].map(([, path = ""]) => path);
  expect(pages).toEqual(expect.arrayContaining(["/docs", "/docs/errors", "/docs/reference"]));
  for (const path of pages) {
    const response = await call(path);
    expect(response.status, path).toBe(200);
    expect(response.headers.get("Content-Security-Policy"), path).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    );
    expect(response.headers.get("X-Frame-Options")).toBe("DENY");
    expect(response.headers.get("Referrer-Policy")).toBe("no-referrer");
    // Of the sources, which no reader needs.
    expect(await response.text(), path).not.toMatch(/<!--|&lt;!--/);
  }
});

test("a cache keeps assets forever, and pages until they change", async () => {
  const page = await call("/docs");
  expect(page.headers.get("Cache-Control")).toBe("public, max-age=0, must-revalidate");
  const paths = [...(await page.text()).matchAll(/"(\/docs\/assets\/[^"]+)"/g)].map(([, path = ""]) => path);
  expect(paths.length).toBeGreaterThan(0);
  for (const path of paths) {
    expect(path).toMatch(/^\/docs\/assets\/\w+-[0-9a-f]{16}\//);
    const asset = await call(path);
    expect(asset.status, path).toBe(200);
    expect(asset.headers.get("Cache-Control"), path).toBe("public, max-age=31536000, immutable");
    await asset.body?.cancel();
  }
  const missing = await call("/docs/assets/page-0000000000000000/page.css");
  expect(missing.status).toBe(404);
  expect(missing.headers.get("Cache-Control")).toBe("no-store");
  await missing.body?.cancel();
});

test("the package of the client has its media type", async () => {
  const guide = await (await call("/docs/client")).text();
  const path = /\/docs\/petstore-client-[\d.]+\.tgz/.exec(guide)?.[0] ?? expect.unreachable("no package");
  const response = await call(path);
  expect([response.status, response.headers.get("Content-Type")]).toEqual([200, "application/gzip"]);
  await response.body?.cancel();
});

test("the document names the address that was asked as its server, and is otherwise the file", async () => {
  const { servers, ...rest } = document;
  for (const host of ["pets.example", "127.0.0.1:8787", "[2001:db8::1]:8443"]) {
    const response = await call("/openapi.json", { host });
    expect(await response.json()).toEqual({ ...rest, servers: [{ ...servers[0], url: `https://${host}/v1` }] });
    expect(response.headers.get("Cache-Control")).toMatch(/^public/);
  }
  expect((await call("/openapi.json", { method: "HEAD" })).status).toBe(200);
});

describe("X-Request-Id", () => {
  // Promise: request-ids
  test("is new for each request", async () => {
    const ids = (await everyKindOfAnswer()).map(({ headers }) => headers.get("X-Request-Id"));
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("ignores the id of a client, which could be anything and would appear in the log", async () => {
    for (const { headers } of await everyKindOfAnswer({ "X-Request-Id": key })) {
      expect(headers.get("X-Request-Id")).toMatch(REQUEST_ID);
    }
  });
});

describe("cross-origin requests", () => {
  // Promise: nothing-without-a-key
  test("a preflight succeeds without a key", async () => {
    for (const path of ["/v1/pets", "/v1/pets/1", "/v1/nothing"]) {
      const response = await call(path, {
        method: "OPTIONS",
        headers: { Origin: "https://shop.example", "Access-Control-Request-Method": "POST" },
      });
      expect(response.status).toBe(204);
      expect(response.headers.get("Access-Control-Allow-Origin")).toBe("*");
      const methods = OPERATIONS.map(({ method }) => method);
      expect(response.headers.get("Access-Control-Allow-Methods")?.split(",").toSorted()).toEqual(
        [...new Set([...methods, "HEAD"])].toSorted(),
      );
      expect(response.headers.get("Access-Control-Allow-Headers")?.toLowerCase().split(",").toSorted()).toEqual([
        "authorization",
        "baggage",
        "cache-control",
        "content-type",
        "idempotency-key",
        "if-match",
        "if-none-match",
        "last-event-id",
        "mcp-method",
        "mcp-name",
        "mcp-protocol-version",
        "sentry-trace",
        "traceparent",
        "tracestate",
        "x-d1-bookmark",
        "x-requested-with",
      ]);
      expect(response.headers.get("Access-Control-Allow-Credentials")).toBeNull();
    }
  });

  test("every response is readable from any origin, with the headers that clients need", async () => {
    for (const { headers } of await everyKindOfAnswer({ Origin: "https://shop.example" })) {
      expect(headers.get("Access-Control-Allow-Origin")).toBe("*");
      expect(headers.get("Access-Control-Allow-Credentials")).toBeNull();
      const exposed = headers.get("Access-Control-Expose-Headers")?.toLowerCase().split(",");
      for (const name of [...DOCUMENTED_HEADERS, "allow"]) {
        expect(exposed).toContain(name);
      }
    }
  });
});

test("a request without an Origin gets no CORS headers", async () => {
  for (const { headers } of await everyKindOfAnswer()) {
    expect([...headers.keys()].filter((name) => name.startsWith("access-control-"))).toEqual([]);
  }
});

test("the request log names the route, not the path, and the error code", async () => {
  let requestId: string | null = null;
  const { log: lines } = await linesOf(async () => {
    requestId = (await call("/v1/pets/secret-path", { key })).headers.get("X-Request-Id");
  });
  const line = { requestId, route: "/v1/pets/:petId", status: 404, errorCode: "not_found" };
  expect(lines).toEqual([expect.objectContaining(line)]);
  expect(JSON.stringify(lines)).not.toContain("secret-path");
});
