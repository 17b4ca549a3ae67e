import { describe, expect, test, vi } from "vitest";
import type { Namespace } from "../../ops/keys/namespace.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { after, at, DAY, HOUR, runKeys, type Shown, START, useLocalKeys } from "./keys.ts";

const { local, json, create, rotate, stored } = await useLocalKeys();

/** The original lifetime of the key in milliseconds, or undefined for one that never expires. */
function lifeOf({ createdAt, expiresAt }: KeyRecord): number | undefined {
  return expiresAt === undefined ? undefined : Date.parse(expiresAt) - Date.parse(createdAt);
}

describe("a new key gets the original lifetime of the old one", () => {
  test.each([
    ["without an expiry", [], undefined],
    ["90 days", ["--expires", "90d"], 90 * DAY],
  ])("%s, however often one key is rotated, and along a chain of rotations", async (_, expires, life) => {
    const key = await create(...expires);
    let last = key;
    for (let count = 0; count < 3; count++) {
      after(HOUR);
      last = await rotate(last);
      expect([last, await rotate(key)].map(lifeOf)).toEqual([life, life]);
    }
  });

  test("unless --expires sets another one, which applies only to that new key, however slow the command is", async () => {
    const key = await create("--expires", "90d");
    const list = async (prefix: string) => {
      after(HOUR);
      return local.list(prefix);
    };
    const args = ["rotate", key.id, "--env", "local", "--json", "--expires", "7d"];
    const successor: Shown = JSON.parse((await runKeys({ ...local, list }, args)).stdout);
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
  test.each<[expires: string[], endByOverlap: { [overlap: string]: number }, given: string | null | undefined]>([
    [[], { "1h": HOUR }, null],
    [["--expires", "90d"], { "1h": HOUR }, at(START + 90 * DAY)],
    [["--expires", "2h"], { "24h": 2 * HOUR }, undefined],
    [["--expires", "12h"], { "24h": 12 * HOUR, "1h": HOUR }, at(START + 12 * HOUR)],
    [[], { "24h": DAY, "25h": DAY, "3h": 3 * HOUR, "30d": 3 * HOUR }, null],
  ])(
    "at the earliest of its own end and the ends of all overlaps, %j, %j, and its record keeps %s",
    async (expires, endByOverlap, given) => {
      const { key, ...record } = await create(...expires);
      const replacedBy: string[] = [];
      let last = record.expiresAt;
      for (const [overlap, end] of Object.entries(endByOverlap)) {
        const successor = await rotate(record, "--overlap", overlap);
        last = at(START + end);
        expect(successor.replaces).toEqual({ id: record.id, expiresAt: last });
        replacedBy.push(successor.id);
      }
      expect(await stored({ key, ...record })).toEqual({
        ...record,
        expiresAt: last,
        ...(given !== undefined && { givenExpiresAt: given }),
        replacedBy,
      });
      expect(lifeOf(await rotate(record))).toBe(lifeOf(record));
    },
  );

  test("at its own end, also when its record has no milliseconds", async () => {
    const name = await keyRecordName("written by hand");
    const record = { id: "by-hand", name: "x", scopes: [], createdAt: "2026-12-01T00:00:00Z" };
    await local.put(name, { value: JSON.stringify({ ...record, expiresAt: "2027-01-02T00:00:00Z" }) });
    vi.setSystemTime(START + 500);
    expect((await rotate(record)).replaces.expiresAt).toBe("2027-01-02T00:00:00Z");
  });
});

describe("a key that was rotated before", () => {
  test("is rotated again, with a message that names the earlier successors and the next steps", async () => {
    const key = await create();
    const first = await rotate(key);
    expect(first).not.toHaveProperty("earlierSuccessors");
    const unused = (id: string) =>
      `${key.id} was rotated before: ${id} replaces it as well. If nobody uses ${id}, revoke it: npm run keys -- revoke ${id} --env local\n`;

    const again = await runKeys(local, ["rotate", key.id, "--env", "local"]);
    expect(again.stderr).toContain(unused(first.id));
    expect(again.stderr).toContain(`${key.id} works until ${at(START + DAY)}, the end that it had before.\n`);
    const [second = ""] = (await stored(key))?.replacedBy?.slice(-1) ?? [];

    await json("revoke", first.id);
    const { stdout, stderr } = await runKeys(local, ["rotate", key.id, "--env", "local", "--json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      earlierSuccessors: [
        { id: first.id, status: "revoked" },
        { id: second, status: "active" },
      ],
    });
    const revoked = `${key.id} was rotated before: ${first.id}, which replaced it, is revoked.\n`;
    expect(stderr).toBe(revoked + unused(second));
  });

  test("is rotated at most eight times, with any name", async () => {
    const key = await json("create", "--name", "語".repeat(100), "--expires", "90d");
    for (let i = 0; i < 8; i++) await rotate(key);
    expect(await runKeys(local, ["rotate", key.id, "--env", "local"])).toMatchObject({
      code: 1,
      stdout: "",
      stderr: `${key.id} was rotated 8 times. Create a new key instead, and revoke ${key.id}.\n`,
    });

    await json("revoke", key.id);
    const name = await keyRecordName(key.key);
    const entry = (await local.list("key:")).find((entry) => entry.name === name);
    expect(entry?.metadata).toEqual(await stored(key));
    expect(Buffer.byteLength(JSON.stringify(entry?.metadata))).toBeLessThanOrEqual(1_024);
  });
});

// keys-revocation.test.ts interrupts it by a revocation.
describe("a rotation that is interrupted", () => {
  /** Storage in which one write of the next command fails, before or after it takes effect. */
  function failingAt(write: number, made: "made" | "not made"): Namespace {
    let writes = 0;
    return {
      ...local,
      async put(...args) {
        writes += 1;
        if (writes !== write || made === "made") await local.put(...args);
        if (writes === write) throw new Error("The connection was lost.");
      },
    };
  }

  /** Storage in which something happens after the first write of the next command, which is that of the new key. */
  function followedBy(then: () => Promise<unknown>): Namespace {
    let writes = 0;
    return {
      ...local,
      async put(...args) {
        await local.put(...args);
        if (++writes === 1) await then();
      },
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
        `Unless keys list shows that it expires at ${at(START + DAY)}, revoke it once the new key is in use.\n`,
    );
    // The next rotation uses the original lifetime of either key.
    after(HOUR);
    const next = await rotate(key);
    expect(lifeOf(next)).toBeUndefined();
    expect(next.earlierSuccessors).toEqual(made === "made" ? [{ id: successor.id, status: "active" }] : undefined);
  });

  test("by the loss of the record of the old key, which is not restored", async () => {
    const key = await create();
    const name = await keyRecordName(key.key);
    const interrupted = followedBy(() => local.put(name, { value: "null" }));
    const { code, stderr } = await runKeys(interrupted, ["rotate", key.id, "--env", "local", "--json"]);
    expect(code).toBe(1);
    expect(stderr).toContain(`works, but it is unknown whether ${key.id} ends: Its record is gone. `);
    expect(await local.get(name)).toBe("null");
  });

  test("by another rotation of the old key, which loses nothing", async () => {
    const key = await create();
    const others: Shown[] = [];
    const interrupted = followedBy(async () => others.push(await rotate(key, "--overlap", "1h")));
    const { stdout } = await runKeys(interrupted, ["rotate", key.id, "--env", "local", "--json"]);
    expect(await stored(key)).toMatchObject({
      replacedBy: [others[0]?.id, JSON.parse(stdout).id],
      expiresAt: at(START + HOUR),
    });
  });
});

test("a record whose name is too long is not rotated, because the new one could not be listed, and can be revoked", async () => {
  const record = { id: "long", name: "x".repeat(1_000), scopes: ["pets:read"], createdAt: "2026-12-01T00:00:00.000Z" };
  await local.put(await keyRecordName("a key with a long name"), { value: JSON.stringify(record) });
  const before = await local.list("key:");
  expect(await runKeys(local, ["rotate", record.id, "--env", "local"])).toMatchObject({
    code: 1,
    stdout: "",
    stderr: "The name is too long: with all that rotations and a revocation add, a record has at most 1024 bytes.\n",
  });
  expect(await local.list("key:")).toEqual(before);
  await json("revoke", record.id);
  expect(await json("list")).toContainEqual({ ...record, revokedAt: at(START), status: "revoked" });
});
