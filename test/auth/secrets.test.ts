import { env } from "cloudflare:workers";
import { expect, test, vi } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { call } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { grantKey, storeKey } from "../support/keys.ts";

const BODY = "body-that-nobody-may-see";
const QUERY = "query-that-nobody-may-see";
const SQL = "INSERT INTO secrets-of-the-schema";

test("no log line, response or stored record holds a key or a body, and no response holds SQL, for every fault", async () => {
  const methods = ["log", "info", "warn", "error", "debug", "trace"] as const;
  const spies = methods.map((method) => vi.spyOn(console, method).mockImplementation(() => {}));
  const good = await grantKey();
  const revoked = await grantKey({ revokedAt: "2026-01-02T00:00:00.000Z" });
  const corrupt = generateKey("local");
  await storeKey(corrupt, `{"${BODY}`);
  const keys = [good, revoked, corrupt, generateKey("local"), generateKey("staging"), "not-even-a-key-of-ours"];

  const rejecting = (message: string) => () => Promise.reject(new Error(message));
  const throwing = (message: string) => () => {
    throw new Error(message);
  };
  // A new one for each request, because a faulty database works again after its faults.
  const faults: (() => Partial<Env>)[] = [
    () => ({}),
    () => ({ DB: observedDatabase({ when: "before", message: `D1_ERROR: near ${SQL}: SQLITE_ERROR` }).DB }),
    () => ({ DB: observedDatabase({ when: "after", message: "D1_ERROR: CHECK failed: SQLITE_CONSTRAINT" }).DB }),
    () => ({ DB: { withSession: throwing("broken") } as unknown as D1Database }),
    () => ({ API_KEYS: { get: rejecting("KV GET failed: 500") } as unknown as KVNamespace }),
    () => ({ RATE_LIMITER: { limit: rejecting("limiter failed") } }),
    () => ({ RATE_LIMITER: { limit: async () => undefined as never } }),
  ];
  const answers: string[] = [];
  for (const fault of faults) {
    for (const key of keys) {
      for (const request of [
        { path: `/v1/pets?status=${QUERY}&cursor=${key}` },
        { path: "/v1/pets" },
        { path: "/v1/key" },
        { path: `/v1/pets/${key}` },
        { path: `/v1/${key}` },
        { path: "/v1/pets", method: "POST", body: { name: 5, categoryId: 1, [BODY]: BODY } },
        { path: "/v1/pets", method: "POST", body: `{"name": "${BODY}", ${key}` },
        { path: "/v1/pets", method: "POST", body: { name: "x", categoryId: 1 }, headers: { "Idempotency-Key": key } },
        { path: "/v1/pets", method: "POST", body: { name: "x", categoryId: 1 }, headers: { "Content-Type": key } },
        { path: "/v1/pets", headers: { "X-Request-Id": key, "x-d1-bookmark": key, traceparent: `00-${key}` } },
        { path: "/v1/pets", headers: { Authorization: `Basic ${key}` } },
      ]) {
        const { path, ...rest } = request;
        const response = await call(path, { ...rest, key, bindings: fault() });
        answers.push(JSON.stringify([...response.headers]), await response.text());
      }
    }
  }
  const logged = spies.flatMap(({ mock }) => mock.calls.map((args) => JSON.stringify(args)));
  vi.restoreAllMocks();

  expect(logged.length).toBeGreaterThan(faults.length * keys.length * 10);
  const output = [...logged, ...answers].join("\n");
  const parts = keys.map((key) => key.slice("petstore_local_".length));
  for (const secret of [...keys, ...parts, BODY, QUERY]) expect(output).not.toContain(secret);
  expect(answers.join("\n")).not.toContain(SQL);
  expect(answers.join("\n")).not.toMatch(/\.[jt]s:\d|SQLITE|D1_ERROR|KV GET/);

  const { results } = await env.DB.prepare("SELECT api_key_id, fingerprint, resource_id FROM idempotency_keys").all();
  // The service stores the idempotency key of a client and nothing else of its request.
  expect(JSON.stringify(results)).not.toContain("petstore_");
  const { keys: names } = await env.API_KEYS.list();
  const stored = await Promise.all(names.map(async ({ name }) => [name, await env.API_KEYS.get(name)]));
  for (const key of keys) expect(JSON.stringify(stored)).not.toContain(key);
  expect(names.map(({ name }) => name)).toContain(await keyRecordName(good));
});
