import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { generateKey } from "../../src/auth/key-format.ts";
import { lookUpKey } from "../../src/auth/key-lookup.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import type { ErrorCode } from "../../src/errors.ts";
import { call, expectError } from "../support/client.ts";
import { grantKey, storeKey } from "../support/keys.ts";

const SECOND = 1_000;

/** The real namespace, with a record of its reads and their options. */
function countingStore() {
  const reads: unknown[] = [];
  const store = {
    get(name: string, options: KVNamespaceGetOptions<"text">) {
      reads.push(options);
      return env.API_KEYS.get(name, options);
    },
  };
  return { reads, bindings: { API_KEYS: store as unknown as KVNamespace } };
}

/** A namespace in memory with records of these names, which is fast enough for thousands of keys. */
function memoryStore(...names: string[]) {
  const reads: string[] = [];
  const record = JSON.stringify({ id: "x", name: "x", scopes: [], createdAt: "2026-01-01T00:00:00.000Z" });
  const store = {
    get(name: string) {
      reads.push(name);
      return Promise.resolve(names.includes(name) ? record : null);
    },
  };
  return { reads, bindings: { API_KEYS: store as unknown as KVNamespace } };
}

/** An operation that checks only the key. */
const ask = (key: string, bindings: Partial<Env>) => call("/v1/pets/none", { key, bindings });

/** Looks up a key without a request, which is fast enough for thousands of keys. */
const lookUp = (key: string, { API_KEYS }: { API_KEYS: KVNamespace }) => lookUpKey(API_KEYS, "local", key, () => {});

/** The numbers of reads after a request at each of these seconds. Each request gets this failure. */
async function readsAt(
  seconds: number[],
  key: string,
  { reads, bindings }: ReturnType<typeof countingStore>,
  code: ErrorCode,
) {
  const counts: number[] = [];
  for (const second of seconds) {
    vi.setSystemTime(start + second * SECOND);
    await expectError(await ask(key, bindings), code);
    counts.push(reads.length);
  }
  return counts;
}

let start: number;
beforeEach(() => {
  start = Date.now();
  vi.useFakeTimers({ now: start, toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

describe("KV is read", () => {
  test("never for garbage, typos and keys of another environment", async () => {
    const { reads, bindings } = countingStore();
    const good = await grantKey();
    const typo = good.slice(0, -1) + (good.endsWith("0") ? "1" : "0");
    for (const key of ["garbage", typo, good.slice(1), `${good}0`, generateKey("staging"), generateKey("production")]) {
      await expectError(await ask(key, bindings), "unauthorized");
    }
    expect(reads).toEqual([]);
  });

  test("once for a thousand requests with a good key within 30 seconds", async () => {
    const { reads, bindings } = countingStore();
    const key = await grantKey();
    for (let i = 0; i <= 1_000; i++) {
      vi.setSystemTime(start + i * 29);
      expect(await lookUp(key, bindings)).toBeDefined();
    }
    expect(reads).toEqual([{ type: "text", cacheTtl: 30 }]);
  });

  test("again after 30 seconds", async () => {
    const store = countingStore();
    const key = await grantKey();
    expect(await readsAt([0, 29.999, 30, 59.999, 60], key, store, "not_found")).toEqual([1, 1, 2, 2, 3]);
  });

  test("again 30 seconds after the previous read began, even if that read was slow", async () => {
    const store = countingStore();
    const slow = {
      async get(name: string, options: KVNamespaceGetOptions<"text">) {
        const value = await store.bindings.API_KEYS.get(name, options);
        vi.setSystemTime(Date.now() + 10 * SECOND);
        return value;
      },
    };
    const key = await grantKey();
    await ask(key, { API_KEYS: slow as unknown as KVNamespace });
    expect(await readsAt([29.999, 30], key, store, "not_found")).toEqual([1, 2]);
  });

  test("again after the clock is set back, also after a refusal", async () => {
    for (const key of [await grantKey(), generateKey("local")]) {
      const { reads, bindings } = countingStore();
      for (const now of [start, start - 1]) {
        vi.setSystemTime(now);
        await ask(key, bindings);
      }
      expect(reads).toHaveLength(2);
    }
  });

  test("once in 30 seconds for a corrupt record, and each read logs an error", async () => {
    const { reads, bindings } = countingStore();
    const error = vi.spyOn(console, "error").mockImplementation(() => {});
    const key = generateKey("local");
    await storeKey(key, "{");
    for (let i = 0; i < 3; i++) await expectError(await ask(key, bindings), "unauthorized");
    expect([reads.length, error.mock.calls.length]).toEqual([1, 1]);
    const line = String(error.mock.lastCall?.[0]);
    expect(JSON.parse(line)).toMatchObject({ level: "error", message: expect.stringContaining("key:") });
    expect(line).not.toContain(key);
    vi.setSystemTime(start + 30 * SECOND);
    await expectError(await ask(key, bindings), "unauthorized");
    expect([reads.length, error.mock.calls.length]).toEqual([2, 2]);
    error.mockRestore();
  });

  test("once in 5 seconds for an unknown or a revoked key", async () => {
    const revoked = await grantKey({ revokedAt: new Date(start).toISOString() });
    for (const key of [generateKey("local"), revoked]) {
      const store = countingStore();
      expect(await readsAt([0, 4.999, 5, 9.999, 10], key, store, "unauthorized")).toEqual([1, 1, 2, 2, 3]);
    }
  });
});

test("a rotated key works until the expiry that the rotation set", async () => {
  const end = start + 10 * SECOND;
  const replaced = { expiresAt: new Date(end).toISOString(), replacedBy: ["key_000000000000", "key_111111111111"] };
  for (const givenExpiresAt of [null, new Date(end + SECOND).toISOString()]) {
    vi.setSystemTime(start);
    const key = await grantKey({ ...replaced, givenExpiresAt });
    await expectError(await ask(key, {}), "not_found");
    vi.setSystemTime(end);
    await expectError(await ask(key, {}), "unauthorized");
  }
});

describe("a cached key", () => {
  test("expires to the millisecond", async () => {
    const { reads, bindings } = countingStore();
    const key = await grantKey({ expiresAt: new Date(start + 10 * SECOND).toISOString() });
    await expectError(await ask(key, bindings), "not_found");
    vi.setSystemTime(start + 10 * SECOND - 1);
    await expectError(await ask(key, bindings), "not_found");
    vi.setSystemTime(start + 10 * SECOND);
    await expectError(await ask(key, bindings), "unauthorized");
    expect(reads).toHaveLength(1);
  });

  test("is refused 30 seconds after it was read, if its record is revoked, deleted or corrupt since", async () => {
    const record = { id: "x", name: "x", scopes: ["pets:read"], createdAt: "2026-01-01T00:00:00.000Z" };
    for (const value of [{ ...record, revokedAt: new Date(start).toISOString() }, "{", undefined]) {
      vi.setSystemTime(start);
      const key = await grantKey(record);
      await expectError(await ask(key, {}), "not_found");
      if (value === undefined) await env.API_KEYS.delete(await keyRecordName(key));
      else await storeKey(key, value);
      vi.setSystemTime(start + 29 * SECOND);
      await expectError(await ask(key, {}), "not_found");
      vi.setSystemTime(start + 30 * SECOND);
      await expectError(await ask(key, {}), "unauthorized");
    }
  });

  test("stays refused after a refusal, even if the clock is set back", async () => {
    const key = await grantKey();
    await expectError(await ask(key, {}), "not_found");
    await env.API_KEYS.delete(await keyRecordName(key));
    for (const seconds of [30, 29]) {
      vi.setSystemTime(start + seconds * SECOND);
      await expectError(await ask(key, {}), "unauthorized");
    }
  });

  test("stays refused after a refusal, even if a read of its old record ends later", async () => {
    const key = await grantKey();
    const { promise: released, resolve: release } = Promise.withResolvers<void>();
    const slow = {
      async get(name: string, options: KVNamespaceGetOptions<"text">) {
        const value = await env.API_KEYS.get(name, options);
        await released;
        return value;
      },
    };
    const late = ask(key, { API_KEYS: slow as unknown as KVNamespace });
    vi.setSystemTime(start + SECOND);
    await env.API_KEYS.delete(await keyRecordName(key));
    await expectError(await ask(key, {}), "unauthorized");
    release();
    await expectError(await late, "unauthorized");
    await expectError(await ask(key, {}), "unauthorized");
  });

  test("is accepted 5 seconds after a refusal, if it has been created since", async () => {
    const key = generateKey("local");
    await expectError(await ask(key, {}), "unauthorized");
    await storeKey(key, { id: "x", name: "x", scopes: ["pets:read"], createdAt: "2026-01-01T00:00:00.000Z" });
    vi.setSystemTime(start + 5 * SECOND);
    await expectError(await ask(key, {}), "not_found");
  });

  test("stays in the cache during a flood of bad keys", async () => {
    const key = generateKey("local");
    const { reads, bindings } = memoryStore(await keyRecordName(key));
    await lookUp(key, bindings);
    for (let i = 0; i < 1_001; i++) expect(await lookUp(generateKey("local"), bindings)).toBeUndefined();
    expect(reads).toHaveLength(1_002);
    expect(await lookUp(key, bindings)).toBeDefined();
    expect(reads).toHaveLength(1_002);
  });

  test("is evicted when a thousand newer keys follow", async () => {
    const keys = Array.from({ length: 1_001 }, () => generateKey("local"));
    const { reads, bindings } = memoryStore(...(await Promise.all(keys.map(keyRecordName))));
    for (const key of keys) await lookUp(key, bindings);
    expect(reads).toHaveLength(1_001);
    await lookUp(keys.at(-1) ?? "", bindings);
    expect(reads).toHaveLength(1_001);
    await lookUp(keys[0] ?? "", bindings);
    expect(reads).toHaveLength(1_002);
  });

  test("is accepted for its 30 seconds while KV is down", async () => {
    const key = await grantKey();
    await ask(key, {});
    const down = { get: () => Promise.reject(new Error("KV GET failed: 503")) };
    const bindings = { API_KEYS: down as unknown as KVNamespace };
    await expectError(await ask(key, bindings), "not_found");
    vi.setSystemTime(start + 30 * SECOND);
    await expectError(await ask(key, bindings), "service_unavailable");
  });
});
