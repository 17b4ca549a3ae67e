import { beforeEach, describe, expect, test, vi } from "vitest";
import type { Namespace } from "../../ops/keys/namespace.ts";
import { type KeyRecord, keyRecordName, parseKeyRecord } from "../../src/auth/key-record.ts";
import { openLocalStorage, runKeys } from "./keys.ts";

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

type Shown = KeyRecord & {
  key: string;
  replaces: { id: string; expiresAt: string };
  earlierSuccessors?: { id: string; status: string }[];
};

const { local } = await openLocalStorage();

// The clock is stopped, so that lifetimes and expiries are exact.
const start = Date.parse("2027-01-01T00:00:00.000Z");
beforeEach(() => {
  vi.useFakeTimers({ now: start, toFake: ["Date"] });
  return () => vi.useRealTimers();
});
const at = (time: number) => new Date(time).toISOString();
const after = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

async function succeed(command: string, ...args: string[]): Promise<Shown> {
  const { code, stdout, stderr } = await runKeys(local, [command, "--env", "local", "--json", ...args]);
  expect(code, stderr).toBe(0);
  return JSON.parse(stdout);
}
const create = (...args: string[]) => succeed("create", "--name", "shop", ...args);
const rotate = ({ id }: { id: string }, ...args: string[]) => succeed("rotate", id, ...args);

/** The record that the service reads. */
async function stored({ key }: Shown): Promise<KeyRecord | undefined> {
  return parseKeyRecord((await local.get(await keyRecordName(key))) ?? "");
}

/** The original lifetime of the key in milliseconds, or undefined for one that never expires. */
function lifeOf({ createdAt, expiresAt }: KeyRecord): number | undefined {
  return expiresAt === undefined ? undefined : Date.parse(expiresAt) - Date.parse(createdAt);
}

describe("a new key gets the original lifetime of the old one", () => {
  test("without an expiry, however often a key that never expires is rotated", async () => {
    const key = await create();
    expect(lifeOf(await rotate(key))).toBeUndefined();
    after(HOUR);
    expect(lifeOf(await rotate(key))).toBeUndefined();
    after(HOUR);
    expect(lifeOf(await rotate(key))).toBeUndefined();
  });

  test("seven days from its creation with --expires, however slow the command is", async () => {
    const slow = {
      ...local,
      list: async (prefix: string) => {
        after(HOUR);
        return local.list(prefix);
      },
    };
    const key = await create("--expires", "90d");
    const { stdout } = await runKeys(slow, ["rotate", key.id, "--env", "local", "--json", "--expires", "7d"]);
    expect(lifeOf(JSON.parse(stdout))).toBe(7 * DAY);
  });

  test("90 days, however often a key of 90 days is rotated", async () => {
    const key = await create("--expires", "90d");
    after(10 * DAY);
    expect(lifeOf(await rotate(key))).toBe(90 * DAY);
    after(HOUR);
    expect(lifeOf(await rotate(key))).toBe(90 * DAY);
  });

  test("along a chain of rotations", async () => {
    for (const [expires, life] of [
      [[], undefined],
      [["--expires", "90d"], 90 * DAY],
    ] as const) {
      let key = await create(...expires);
      for (let i = 0; i < 3; i++) {
        after(HOUR);
        key = await rotate(key);
        expect(key.earlierSuccessors).toBeUndefined();
        expect(lifeOf(key)).toBe(life);
      }
    }
  });

  test("unless --expires sets another one, which applies only to that new key", async () => {
    const key = await create("--expires", "90d");
    const successor = await rotate(key, "--expires", "7d");
    expect(lifeOf(successor)).toBe(7 * DAY);
    expect(lifeOf(await rotate(key))).toBe(90 * DAY);
    expect(lifeOf(await rotate(successor))).toBe(7 * DAY);
  });

  test("within the years that a record can hold", async () => {
    const key = await create("--expires", "9999-12-31");
    after(DAY);
    const successor = await rotate(key);
    expect(successor.expiresAt).toBe("9999-12-31T23:59:59.999Z");
    expect(await stored(successor)).toBeDefined();
  });
});

describe("the old key expires", () => {
  test("after the overlap, and its record keeps the original lifetime", async () => {
    for (const expires of [undefined, at(start + 90 * DAY)]) {
      const key = await create(...(expires === undefined ? [] : ["--expires", expires]));
      const successor = await rotate(key, "--overlap", "1h");
      expect(successor.replaces).toEqual({ id: key.id, expiresAt: at(start + HOUR) });
      expect(await stored(key)).toEqual({
        id: key.id,
        name: "shop",
        scopes: key.scopes,
        createdAt: key.createdAt,
        expiresAt: at(start + HOUR),
        givenExpiresAt: expires ?? null,
        replacedBy: [successor.id],
      });
    }
  });

  test("no later than its own expiry, also when the record has no milliseconds", async () => {
    const key = await create("--expires", "2h");
    const successor = await rotate(key);
    expect(successor.replaces.expiresAt).toBe(at(start + 2 * HOUR));
    expect(await stored(key)).not.toHaveProperty("givenExpiresAt");

    const name = await keyRecordName("written by hand");
    const record = { id: "by-hand", name: "x", scopes: [], createdAt: "2026-12-01T00:00:00Z" };
    await local.put(name, JSON.stringify({ ...record, expiresAt: "2027-01-02T00:00:00Z" }));
    vi.setSystemTime(start + 500);
    expect((await rotate(record)).replaces.expiresAt).toBe("2027-01-02T00:00:00Z");
  });

  test("at the earliest expiry that any of its rotations set", async () => {
    const key = await create();
    expect((await rotate(key, "--overlap", "24h")).replaces.expiresAt).toBe(at(start + 24 * HOUR));
    after(HOUR);
    expect((await rotate(key, "--overlap", "24h")).replaces.expiresAt).toBe(at(start + 24 * HOUR));
    expect((await rotate(key, "--overlap", "2h")).replaces.expiresAt).toBe(at(start + 3 * HOUR));
    expect((await rotate(key, "--overlap", "30d")).replaces.expiresAt).toBe(at(start + 3 * HOUR));
    expect(await stored(key)).toMatchObject({ expiresAt: at(start + 3 * HOUR), givenExpiresAt: null });
  });

  test("at the end of a shorter overlap, after one that exceeded its lifetime", async () => {
    const key = await create("--expires", "12h");
    await rotate(key);
    await rotate(key, "--overlap", "1h");
    expect(await stored(key)).toMatchObject({ expiresAt: at(start + HOUR), givenExpiresAt: at(start + 12 * HOUR) });
    expect(lifeOf(await rotate(key))).toBe(12 * HOUR);
  });
});

describe("a key that was rotated before", () => {
  test("is rotated again, with a message that names the earlier successors and the next steps", async () => {
    const key = await create();
    const first = await rotate(key);
    expect(first).not.toHaveProperty("earlierSuccessors");

    const again = await runKeys(local, ["rotate", key.id, "--env", "local"]);
    expect(again.stderr).toContain(
      `${key.id} was rotated before: ${first.id} replaces it as well. ` +
        `If nobody uses ${first.id}, revoke it: npm run keys -- revoke ${first.id} --env local\n`,
    );
    expect(again.stderr).toContain(`${key.id} works until ${at(start + DAY)}, the end that it had before.\n`);
    const [second = ""] = (await stored(key))?.replacedBy?.slice(-1) ?? [];

    await succeed("revoke", first.id);
    const { stdout, stderr } = await runKeys(local, ["rotate", key.id, "--env", "local", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      earlierSuccessors: [
        { id: first.id, status: "revoked" },
        { id: second, status: "active" },
      ],
    });
    expect(stderr.split("\n")).toEqual([
      `${key.id} was rotated before: ${first.id}, which replaced it, is revoked.`,
      `${key.id} was rotated before: ${second} replaces it as well. ` +
        `If nobody uses ${second}, revoke it: npm run keys -- revoke ${second} --env local`,
      "",
    ]);
  });

  test("is reported with a successor that the listing does not have yet", async () => {
    const key = await create();
    const { id } = await rotate(key);
    const lagging = {
      ...local,
      list: async () =>
        (await local.list("key:")).filter(({ metadata }) => !JSON.stringify(metadata).includes(`"id":"${id}"`)),
    };
    const { stdout, stderr } = await runKeys(lagging, ["rotate", key.id, "--env", "local", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({ earlierSuccessors: [{ id, status: "unknown" }] });
    expect(stderr).toContain(`If nobody uses ${id}, revoke it`);
  });

  test("is rotated at most eight times, with any name", async () => {
    const key = await succeed("create", "--name", "語".repeat(100), "--expires", "90d");
    for (let i = 0; i < 8; i++) await rotate(key);
    const { code, stdout, stderr } = await runKeys(local, ["rotate", key.id, "--env", "local"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toBe(`${key.id} was rotated 8 times. Create a new key instead, and revoke ${key.id}.\n`);

    await succeed("revoke", key.id);
    const name = await keyRecordName(key.key);
    const entry = (await local.list("key:")).find((entry) => entry.name === name);
    expect(entry?.metadata).toEqual(await stored(key));
    expect(Buffer.byteLength(JSON.stringify(entry?.metadata))).toBeLessThanOrEqual(1_024);
  });
});

describe("a rotation that is interrupted", () => {
  /** Storage in which one write of the next command fails, before or after it takes effect. */
  function failingAt(write: number, made: "made" | "not made"): Namespace {
    let writes = 0;
    const fail = async (attempt: () => Promise<void>) => {
      writes += 1;
      if (writes !== write || made === "made") await attempt();
      if (writes === write) throw new Error("The connection was lost.");
    };
    return {
      ...local,
      put: (...args) => fail(() => local.put(...args)),
      update: (...args) => fail(() => local.update(...args)),
    };
  }

  test.each(["made", "not made"] as const)("at the write of the new key, which was %s", async (made) => {
    const key = await create();
    const before = await stored(key);
    const { code, stdout, stderr } = await runKeys(failingAt(1, made), ["rotate", key.id, "--env", "local", "--json"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(
      /^The connection was lost\. Nobody has seen key_\w{12}; if keys list shows it, revoke it\.\n$/,
    );
    expect(await stored(key)).toEqual(before);
  });

  test.each(["made", "not made"] as const)("at the write of the old key, which was %s", async (made) => {
    const key = await create();
    const { code, stdout, stderr } = await runKeys(failingAt(2, made), ["rotate", key.id, "--env", "local", "--json"]);
    const successor = JSON.parse(stdout);
    expect(code).toBe(1);
    expect(stderr).toBe(
      `The new key ${successor.id} works, but it is unknown whether ${key.id} ends: The connection was lost. ` +
        `Unless keys list shows that it expires at ${at(start + DAY)}, revoke it once the new key is in use.\n`,
    );
    // The next rotation uses the original lifetime of either key.
    after(HOUR);
    const next = await rotate(key);
    expect(lifeOf(next)).toBeUndefined();
    expect(next.earlierSuccessors).toEqual(made === "made" ? [{ id: successor.id, status: "active" }] : undefined);
  });

  test("by a revocation of the old key, which stays revoked", async () => {
    const key = await create();
    const interrupted = {
      ...local,
      async put(...args: Parameters<Namespace["put"]>) {
        await local.put(...args);
        await succeed("revoke", key.id);
      },
    };
    expect(await runKeys(interrupted, ["rotate", key.id, "--env", "local"])).toMatchObject({ code: 0 });
    expect(await stored(key)).toHaveProperty("revokedAt");
  });

  test("by the loss of the record of the old key, which is not restored", async () => {
    const key = await create();
    const name = await keyRecordName(key.key);
    const interrupted = {
      ...local,
      async put(...args: Parameters<Namespace["put"]>) {
        await local.put(...args);
        await local.put(name, "null");
      },
    };
    const { code, stderr } = await runKeys(interrupted, ["rotate", key.id, "--env", "local", "--json"]);
    expect(code).toBe(1);
    expect(stderr).toContain(`works, but it is unknown whether ${key.id} ends: Its record is gone. `);
    expect(await local.get(name)).toBe("null");
  });

  test("by another rotation of the old key, which loses nothing", async () => {
    const key = await create();
    const others: Shown[] = [];
    const interrupted = {
      ...local,
      async put(...args: Parameters<Namespace["put"]>) {
        await local.put(...args);
        if (others.length === 0) others.push(await rotate(key, "--overlap", "1h"));
      },
    };
    const { stdout } = await runKeys(interrupted, ["rotate", key.id, "--env", "local", "--json"]);
    expect(await stored(key)).toMatchObject({
      replacedBy: [others[0]?.id, JSON.parse(stdout).id],
      expiresAt: at(start + HOUR),
    });
  });
});

describe("a record whose name is too long", () => {
  const record = { id: "long", name: "x".repeat(1_000), scopes: ["pets:read"], createdAt: "2026-12-01T00:00:00.000Z" };

  test("is not rotated, because the new record could not be listed, and can be revoked", async () => {
    await local.put(await keyRecordName("a key with a long name"), JSON.stringify(record));
    const before = await local.list("key:");
    expect(await runKeys(local, ["rotate", record.id, "--env", "local"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "The name is too long: with all that rotations and a revocation add, a record has at most 1024 bytes.\n",
    });
    expect(await local.list("key:")).toEqual(before);
    expect(await succeed("revoke", record.id)).toHaveProperty("revokedAt");
    const { stdout } = await runKeys(local, ["list", "--env", "local", "--json"]);
    expect(JSON.parse(stdout)).toContainEqual({ ...record, revokedAt: at(start), status: "revoked" });
  });
});
