import { applyD1Migrations, createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { version } from "../../package.json";
import { createApp } from "../../src/app.ts";
import { generateKey } from "../../src/auth/key-format.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { COUNT_MILLISECONDS } from "../../src/orders/get-inventory.ts";
import { type Call, call, expectError, expectJson } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { grantKey, key } from "../support/keys.ts";
import { emptyStorage } from "../support/empty-storage.ts";
import { linesOf } from "../support/log-lines.ts";
import { METHODS, OPERATIONS } from "../support/operations.ts";

test.each([
  "/nothing",
  "/docs/nothing",
  "/openapi",
  "/docs.html.map",
  "/V1/pets",
  "/v1pets",
  "//v1/pets",
  "/health/",
  "/favicon.ico",
])("%s is not found, for everybody", async (path) => {
  await expectError(await call(path), "not_found");
});

test.each(["/docs/nothing", "/docs/errors/x", "/docs/assets/page-0/page.css"])(
  "%s is a page that is not found, for a browser",
  async (path) => {
    for (const method of ["GET", "HEAD"]) {
      const response = await call(path, { method, headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
      expect(response.status).toBe(404);
      expect(response.headers.get("Content-Type")).toBe("text/html; charset=utf-8");
      expect(response.headers.get("Cache-Control")).toBe("no-store");
      expect(response.headers.get("Content-Security-Policy")).toContain("script-src 'self'");
      if (method === "GET") expect(await response.text()).toContain("There is no such page");
    }
  },
);

test("a path outside of /v1 says where the operations are", async () => {
  expect(await expectError(await call("/pets", { key }), "not_found")).toBe(
    "There is nothing at this path. The operations are below /v1.",
  );
  expect(await expectError(await call("/v1/pet", { key }), "not_found")).toBe("There is nothing at this path.");
});

test.each([
  "/.well-known/oauth-protected-resource",
  "/.well-known/oauth-protected-resource/mcp",
  "/.well-known/oauth-authorization-server",
  "/.well-known/oauth-authorization-server/mcp",
  "/.well-known/openid-configuration",
  "/.well-known/openid-configuration/mcp",
  "/mcp/.well-known/openid-configuration",
  "/register",
  "/authorize",
  "/token",
])("a client that looks for a sign-in at %s is told to check its key", async (path) => {
  for (const method of ["GET", "POST", "HEAD"]) {
    const response = await call(path, { method, headers: { Accept: "text/html,*/*" } });
    expect(response.status).toBe(404);
    if (method !== "HEAD")
      expect(await expectError(response, "not_found")).toBe("There is no sign-in (OAuth) here: check the API key.");
  }
  for (const other of [`${path}.json`, `/v1${path}`, `/x${path}`])
    expect(await call(other, { key }).then((response) => response.text()), other).not.toContain("OAuth");
});

test.each(["/v1/nothing", "/v1/pets/", "/v1/pets/1/toys", "/v1"])("%s is not found, with a good key", async (path) => {
  await expectError(await call(path, { key }), "not_found");
});

describe.each<[string, string[]]>([...METHODS, ["/health", ["GET", "HEAD"]]])("%s", (path, methods) => {
  const allowed = [...methods, "OPTIONS"].toSorted();
  const allowedBy = (response: Response) => response.headers.get("Allow")?.split(", ").toSorted();

  test("responds to other methods with 405 and lists its own", async () => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE"].filter((name) => !methods.includes(name))) {
      const response = await call(path, { method, key });
      await expectError(response, "method_not_allowed");
      expect(allowedBy(response), method).toEqual(allowed);
    }
  });

  test("lists its methods in response to OPTIONS, and logs no error", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => {});
    const response = await call(path, { method: "OPTIONS", key });
    const [[line]] = log.mock.calls as [[string]];
    log.mockRestore();
    expect(JSON.parse(line)).not.toHaveProperty("errorCode");
    expect(response.status).toBe(204);
    expect(await response.text()).toBe("");
    expect(response.headers.get("Content-Type")).toBeNull();
    expect(allowedBy(response)).toEqual(allowed);
  });
});

test("OPTIONS is 401 without a key, and 404 at an unknown path", async () => {
  await expectError(await call("/v1/pets", { method: "OPTIONS" }), "unauthorized");
  await expectError(await call("/v1/nothing", { method: "OPTIONS", key }), "not_found");
});

test("a very long path is not found, and only its beginning is decoded", async () => {
  const endless = "%80a".repeat(4_000);
  const decode = vi.spyOn(globalThis, "decodeURI");
  await expectError(await call(`/${endless}`), "not_found");
  await expectError(await call(`/v1/${endless}`), "unauthorized");
  const lengths = decode.mock.calls.map(([text]) => text.length);
  decode.mockRestore();
  expect(Math.max(...lengths)).toBe(1_000);
  await expectError(await call(`/v1/pets/1${"0".repeat(2_000)}`, { key }), "not_found");
});

test("an outage of KV is a 503 with a log line, also at a path or with a method that does not exist", async () => {
  const bindings = { API_KEYS: { get: () => Promise.reject(new Error("KV is down")) } as unknown as KVNamespace };
  const outage = async (path: string, method: string) => {
    let requestId: string | null = null;
    const { log } = await linesOf(async () => {
      const response = await call(path, { method, key: await grantKey(), bindings });
      await expectError(response, "service_unavailable");
      requestId = response.headers.get("X-Request-Id");
    });
    expect(log).toEqual([expect.objectContaining({ requestId, status: 503, errorCode: "service_unavailable" })]);
  };
  await outage("/v1/nothing", "GET");
  await outage("/v1/pets", "DELETE");
  await outage("/v1/pets", "OPTIONS");
  await outage("/v1/pets/batch", "GET");
});

/** The status of a request whose URL is as workerd takes it from a socket. Request refuses or corrects such a URL. */
async function statusOf(url: string): Promise<number> {
  const request = new Request("http://pets.example", { headers: { Authorization: `Bearer ${key}` } });
  Object.defineProperty(request, "url", { value: url });
  return (await createApp().fetch(request, env, createExecutionContext())).status;
}

// workerd takes any `Host`. miniflare refuses a malformed one itself.
test.each(["a b", "[::1", "%", "a:99999", "<x>", "1.2.3.4.5"])(
  "the Host %j is no failure of the service",
  async (host) => {
    expect(await statusOf(`http://${host}/docs`)).toBe(200);
    expect(await statusOf(`http://${host}/openapi.json`)).toBe(200);
    expect(await statusOf(`http://${host}/${"a".repeat(2_000)}`)).toBe(404);
    expect(await statusOf(`http://${host}/v1/pets?limit=1`)).toBe(200);
  },
);

test("an unescaped character at the end of what is read of a long path is no failure of the service", async () => {
  for (const length of [992, 993, 994]) expect(await statusOf(`http://x/docs/${"a".repeat(length)}🐍bbb`)).toBe(404);
});

test("an address of more than 4,096 characters is refused", async () => {
  const path = "/v1/pets?id=1";
  const ask = (length: number) => call(path, { key, host: "a".repeat(length - "https://".length - path.length) });
  await expectJson(await ask(4_096), 200);
  const message = await expectError(await ask(4_097), "invalid_request");
  expect(message).toBe("The address has to be at most 4096 characters.");
});

test("HEAD responds like GET, without the body", async () => {
  const paths = METHODS.filter(([, methods]) => methods.includes("HEAD")).map(([path]) => path);
  for (const path of [...paths, "/v1/events?limit=0", "/health"]) {
    const [head, get] = await Promise.all([call(path, { method: "HEAD", key }), call(path, { key })]);
    expect(head.status).toBe(get.status);
    expect(head.headers.get("Content-Type")).toBe(get.headers.get("Content-Type"));
    expect(await head.text()).toBe("");
  }
});

test("the health check needs no key and no storage", async () => {
  const broken = new Proxy({}, { get: () => expect.unreachable("storage was touched") });
  const response = await call("/health", {
    bindings: { DB: broken as D1Database, API_KEYS: broken as KVNamespace, RATE_LIMITER: broken as RateLimit },
  });
  expect(await expectJson(response, 200)).toEqual({ status: "ok", version, deployment: env.VERSION.id });
  expect(env.VERSION.id).toMatch(/\S/);
  expect(response.headers.get("Cache-Control")).toBe("no-store");
});

test("without the version binding, requests succeed and the deployment has no name", async () => {
  const bindings = { VERSION: undefined } as unknown as Partial<Env>;
  expect(await expectJson(await call("/health", { bindings }), 200)).toEqual({ status: "ok", version });
  await expectJson(await call("/v1/pets", { key, bindings }), 200);
});

const SECRET = "parameter-that-must-not-leak";
/** A database that fails as often as the service asks. */
const failing = (message: string) => {
  const fault = { when: "before" as const, message: `D1_ERROR: ${message} ${SECRET}` };
  return observedDatabase(fault, fault, fault).DB;
};

/** The changes that may have happened, and would happen twice. A deletion would not, and neither would the shipment of the example. */
const UNKNOWN = new Set(
  "createPet createPets updatePet updatePets createCategory updateCategory placeOrder createWebhook updateWebhook".split(
    " ",
  ),
);

describe("when D1 fails", () => {
  // No count of a file before is still remembered.
  beforeAll(() => void vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + COUNT_MILLISECONDS }));
  afterAll(() => void vi.useRealTimers());

  // Promise: faults, three-fields, an-unknown-outcome
  test.each(OPERATIONS.filter(({ usesDatabase }) => usesDatabase))(
    "$name responds with 503 and no details",
    async ({ name, path, request }) => {
      for (const message of ["Network connection lost.", "no such table: pets: SQLITE_ERROR", "D1 DB is overloaded."]) {
        const response = await call(path, { ...request, key, bindings: { DB: failing(message) } });
        const text = await expectError(response, "service_unavailable");
        expect(text).not.toMatch(/D1|SQL|pets|parameter/i);
        const unknown =
          "The outcome is unknown: this change may have happened. Look at the present state before you send it again.";
        const [wait, words] = UNKNOWN.has(name) ? [null, unknown] : ["5", expect.stringMatching(/Try again later\.$/)];
        expect(response.headers.get("Retry-After")).toBe(wait);
        expect(text).toEqual(words);
        if (!UNKNOWN.has(name)) continue;
        const headers = { "Idempotency-Key": crypto.randomUUID() };
        const keyed = await call(path, { ...request, key, headers, bindings: { DB: failing(message) } });
        expect(await expectError(keyed, "service_unavailable")).toMatch(/Try again later\.$/);
        expect(keyed.headers.get("Retry-After")).toBe("5");
      }
    },
  );

  // Promise: an-unknown-outcome
  test("a shipment with a label or a precondition is unknown too, and a second cancellation is harmless", async () => {
    const path = "/v1/store/orders/1";
    const waits = (method: string, more: Call) =>
      call(path, { method, key, ...more, bindings: { DB: failing("Network connection lost.") } }).then(({ headers }) =>
        headers.get("Retry-After"),
      );
    const shipped = { status: "shipped" };
    expect(await waits("PATCH", { body: shipped })).toBe("5");
    for (const more of [
      { body: { ...shipped, reference: "a" } },
      { body: { customer: null } },
      { body: shipped, headers: { "If-Match": '"1"' } },
      { body: shipped, headers: { "If-None-Match": '"9"' } },
    ])
      expect(await waits("PATCH", more)).toBeNull();
    for (const headers of [{}, { "If-Match": '"1"' }, { "If-None-Match": '"9"' }])
      expect(await waits("DELETE", { headers })).toBe("5");
  });

  // Promise: request-ids
  test("the log line of the cause carries the request id", async () => {
    let requestId: string | null = null;
    const { error } = await linesOf(async () => {
      const response = await call("/v1/pets", { key, bindings: { DB: failing("Network connection lost.") } });
      requestId = response.headers.get("X-Request-Id");
    });
    const message: unknown = expect.stringContaining("Network connection lost.");
    expect(error[0]).toMatchObject({ level: "error", requestId, message });
  });
});

test("an exception is a 500 without details", async () => {
  const response = await call("/v1/pets", {
    key,
    bindings: { RATE_LIMITER: { limit: async () => undefined as never } },
  });
  expect(await expectError(response, "internal_error")).toBe("Something went wrong inside the service.");
});

describe("the local service explains how to prepare its storage", () => {
  const HINT = expect.stringContaining("npm run dev");

  /** The warnings of the service during a response with this status. */
  async function warnings(status: number, ...request: Parameters<typeof call>): Promise<unknown[]> {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const response = await call(...request);
    const messages = warn.mock.calls.flat();
    warn.mockRestore();
    expect(response.status).toBe(status);
    return messages;
  }

  test("not for a request that is refused for another reason", async () => {
    expect(await warnings(401, "/v1/pets")).toEqual([]);
    expect(await warnings(401, "/v1/pets", { key: generateKey("local") })).toEqual([]);
    const { DB } = observedDatabase({ when: "before", message: "D1_ERROR: D1 DB is overloaded." });
    expect(await warnings(503, "/v1/pets", { key, bindings: { DB } })).toEqual([]);
  });

  test("when it is not prepared", async () => {
    await emptyStorage();
    expect(await warnings(401, "/v1/pets", { key: LOCAL_API_KEY })).toEqual([HINT]);
    const granted = await grantKey();
    expect(await warnings(503, "/v1/pets", { key: granted })).toEqual([HINT]);
    await applyD1Migrations(env.DB, env.TEST_MIGRATIONS);
    expect(await warnings(200, "/v1/pets", { key: granted })).toEqual([]);
  });

  test("and no other service does", async () => {
    const bindings = { ENVIRONMENT: "production" } as const;
    expect(await warnings(401, "/v1/pets", { key: LOCAL_API_KEY, bindings })).toEqual([]);
    const granted = await grantKey({}, "production");
    const DB = failing("no such table: pets: SQLITE_ERROR");
    expect(await warnings(503, "/v1/pets", { key: granted, bindings: { ...bindings, DB } })).toEqual([]);
  });
});
