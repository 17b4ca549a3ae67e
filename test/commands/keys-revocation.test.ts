import { beforeEach, describe, expect, test } from "vitest";
import { run } from "../../ops/keys/command-line.ts";
import { type KeyRecord, parseKeyRecord } from "../../src/auth/key-record.ts";
import { addReleases, failureOf, RECORD, runHere, succeed, useAccount } from "./cloudflare/fixture.ts";
import type { Read } from "./cloudflare/namespaces.ts";
import { type Effect, Refusal } from "./cloudflare/route.ts";

// KV shows a change late: to the reads of values, to the listings with their metadata, or to both.

const STAGING = "petstore-staging";
const NAME = "key:0";
const ID = RECORD.id;
const EARLY = "2026-02-01T00:00:00.000Z";

const cloudflare = useAccount(STAGING);
beforeEach(() => {
  addReleases(cloudflare.api, STAGING, 1);
  write(RECORD);
});

const entries = () => cloudflare.api.namespaces.titled(`${STAGING}-api-keys`)?.entries ?? expect.unreachable();
const write = (record: KeyRecord) => void entries().set(NAME, { value: JSON.stringify(record), metadata: record });
const stored = () => parseKeyRecord(entries().get(NAME)?.value ?? "") ?? expect.unreachable();
const keys = (...args: string[]) => runHere(run, [...args, "--env", "staging"]);

/** Writes a record that these reads do not show. */
function writeUnseen(record: KeyRecord, ...reads: Read[]): void {
  for (const read of reads) cloudflare.api.namespaces.lag(read);
  write(record);
}

describe.each<Read>(["value", "listing"])("a revocation that the %s does not show yet", (read) => {
  const revoked = { ...RECORD, revokedAt: EARLY };

  test("is kept by a repetition, with its time, and shown", async () => {
    writeUnseen(revoked, read);
    expect(JSON.parse((await keys("show", ID, "--json")).stdout)).toMatchObject({ ...revoked, status: "revoked" });
    expect(JSON.parse((await succeed(keys("revoke", ID, "--json"))).stdout)).toEqual(revoked);
    expect(stored()).toEqual(revoked);
  });

  test("is kept by a rotation, which creates no key", async () => {
    writeUnseen(revoked, read);
    expect(await failureOf(keys("rotate", ID))).toBe(`${ID} is revoked; create a new key instead.`);
    expect(stored()).toEqual(revoked);
    expect(entries().size).toBe(1);
  });

  test("is kept by a rotation that began before it", async () => {
    const { api } = cloudflare;
    const arrival = api.hold("PUT", "/values/");
    const rotation = keys("rotate", ID);
    await arrival;
    writeUnseen(revoked, read);
    api.repair();
    await succeed(rotation);
    expect(stored()).toMatchObject({ revokedAt: EARLY, replacedBy: [expect.any(String)] });
  });
});

test("the earliest of two times of a revocation is kept", async () => {
  write({ ...RECORD, revokedAt: EARLY });
  writeUnseen({ ...RECORD, revokedAt: "2026-03-01T00:00:00.000Z" }, "listing");
  await keys("revoke", ID);
  expect(stored()).toEqual({ ...RECORD, revokedAt: EARLY });
});

test("an end that a rotation set, and its successor, are kept by a rotation that does not see them in the value", async () => {
  const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
  const rotated = { ...RECORD, expiresAt, givenExpiresAt: null, replacedBy: ["key_first"] };
  writeUnseen(rotated, "value");
  const { stdout } = await keys("rotate", ID, "--overlap", "30d", "--json");
  expect(stored()).toEqual({ ...rotated, replacedBy: ["key_first", JSON.parse(stdout).id] });
});

test("a rotation keeps what its first read showed and its second does not, beside what only the second shows", async () => {
  const { api } = cloudflare;
  write({ ...RECORD, replacedBy: ["key_first"] });
  const arrival = api.hold("PUT", "/values/");
  const rotation = keys("rotate", ID, "--json");
  await arrival;
  write({ ...RECORD, replacedBy: ["key_second"] });
  api.repair();
  const { stdout } = await rotation;
  expect(new Set(stored().replacedBy)).toEqual(new Set(["key_first", "key_second", JSON.parse(stdout).id]));
});

test.each<[name: string, effect: Effect]>([
  ["was blocked", new Refusal(429, 971, "Please wait", { "Retry-After": "1" })],
  ["got no response", "lost"],
])("a rotation reads the old key again before it repeats a write that %s", async (_, effect) => {
  const { api } = cloudflare;
  // The first write is that of the new key.
  api.break("PUT", "/values/", effect, { after: 1, times: 1 });
  const rotation = keys("rotate", ID, "--json");
  await expect.poll(() => api.requests.filter((request) => request.startsWith("PUT ")).length).toBe(2);
  if (effect === "lost") await expect.poll(() => stored().replacedBy).toBeDefined();
  write({ ...stored(), revokedAt: EARLY });
  const { stdout } = await succeed(rotation);
  expect(stored()).toMatchObject({ revokedAt: EARLY, replacedBy: [JSON.parse(stdout).id] });
});

describe("revoke", () => {
  test.each<Read[][]>([[["value"]], [["value", "listing"]]])(
    "reports that the revocation is written and not shown yet, when %j is late",
    async (reads) => {
      for (const read of reads) cloudflare.api.namespaces.lag(read);
      const { code, stdout, stderr } = await keys("revoke", ID);
      const { revokedAt } = stored();
      expect(stdout).toBe(
        `The revocation of ${ID} is written, with the time ${revokedAt}. KV does not show it yet. ` +
          "The service may accept it for another two minutes (docs/managing-keys.md).\n",
      );
      const advice = `Then look at it: npm run keys -- show ${ID} --env staging\nUntil it is shown as revoked, do not rotate it.`;
      expect({ code, stderr }).toEqual({ code: 0, stderr: `${advice}\n` });
      expect(stored()).toEqual({ ...RECORD, revokedAt: expect.any(String) });
    },
  );

  test("says that the revocation is written when the look at it fails", async () => {
    cloudflare.api.break("GET", "/values/", new Refusal(403, 10_000, "Authentication error"), { after: 1 });
    expect(await failureOf(keys("revoke", ID))).toMatch(
      /^The revocation of \w+ is written, but it is unknown whether KV shows it: Cloudflare refused GET .+$/,
    );
    expect(stored()).toHaveProperty("revokedAt");
  });

  test("waits for a read that shows the revocation", async () => {
    // The command reads the value once before it writes.
    cloudflare.api.namespaces.lag("value", 3);
    const { stdout, stderr } = await keys("revoke", ID);
    expect(stdout).toMatch(new RegExp(`^${ID} is revoked since ${stored().revokedAt}\\.`));
    expect(stderr).toBe("");
  });

  test("says how to find the webhooks of a key that manages them", async () => {
    write({ ...RECORD, scopes: ["webhooks:manage"] });
    expect((await succeed(keys("revoke", ID))).stderr).toBe(
      "Its webhooks deliver on. To find and stop them: npm run webhooks -- list --env staging\n",
    );
  });

  test("writes its revocation again when a rotation wrote over it", async () => {
    const { api } = cloudflare;
    api.namespaces.lag("value", 2);
    const revocation = keys("revoke", ID);
    await expect.poll(() => stored().revokedAt).toBeDefined();
    const { revokedAt } = stored();
    write({ ...RECORD, replacedBy: ["key_other"] });
    expect(await revocation).toMatchObject({ code: 0, stdout: expect.stringMatching(/^key_\w+ is revoked since /) });
    expect(stored()).toEqual({ ...RECORD, revokedAt, replacedBy: ["key_other"] });
  });
});
