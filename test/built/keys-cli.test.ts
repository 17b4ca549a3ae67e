import { execFile } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isWellFormedKey } from "../../src/auth/key-format.ts";

let state: string;
beforeAll(() => {
  state = mkdtempSync(join(tmpdir(), "petstore-keys-"));
});
afterAll(() => rmSync(state, { recursive: true }));

interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** Runs the command as an operator does, without a terminal. Local keys are in a store of this file's own. */
function keys(...args: string[]): Promise<Outcome> {
  const local = args.includes("local") ? [`--persist-to=${state}`] : [];
  return new Promise((resolve) => {
    // No login, and nothing to reach: what staging and production would say on a machine that is not set up.
    const env = { ...process.env, CLOUDFLARE_API_TOKEN: "", CLOUDFLARE_API_BASE_URL: "http://127.0.0.1:9", CI: "true" };
    execFile(process.execPath, ["scripts/keys.ts", ...args, ...local], { env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
  });
}

async function list(): Promise<Record<string, unknown>[]> {
  const { stdout } = await keys("list", "--env", "local", "--json");
  return JSON.parse(stdout);
}

test("a key is created, listed, rotated and revoked", async () => {
  const created = await keys("create", "--env", "local", "--name", "ci", "--expires", "90d", "--json");
  expect(created).toMatchObject({ code: 0, stderr: "" });
  const { key, ...record } = JSON.parse(created.stdout);
  expect(isWellFormedKey(key, "local")).toBe(true);
  expect(record).toEqual({
    id: expect.stringMatching(/^key_\w{12}$/),
    name: "ci",
    scopes: ["pets:read", "pets:write"],
    createdAt: expect.any(String),
    expiresAt: expect.any(String),
  });
  expect(Date.parse(record.expiresAt) - Date.parse(record.createdAt)).toBeCloseTo(90 * 86_400_000, -4);
  expect(await list()).toEqual([{ ...record, status: "active" }]);

  const rotated = JSON.parse((await keys("rotate", record.id, "--env", "local", "--overlap", "1h", "--json")).stdout);
  expect(rotated).toMatchObject({ name: "ci", scopes: record.scopes, replaces: { id: record.id } });
  expect(rotated.key).not.toBe(key);
  const [old] = await list();
  expect(old).toEqual({ ...record, expiresAt: rotated.replaces.expiresAt, status: "active" });
  expect(Date.parse(rotated.replaces.expiresAt) - Date.parse(rotated.createdAt)).toBeCloseTo(3_600_000, -4);

  const revoked = await keys("revoke", rotated.id, "--env", "local", "--json");
  expect(JSON.parse(revoked.stdout)).toMatchObject({ id: rotated.id, revokedAt: expect.any(String) });
  // Nothing takes a revocation back, and the rotated key has the lifetime of the old one.
  expect(Date.parse(rotated.expiresAt) - Date.parse(rotated.createdAt)).toBeCloseTo(90 * 86_400_000, -4);
  const all = await list();
  expect(all.map(({ id, status }) => [id, status])).toEqual([
    [record.id, "active"],
    [rotated.id, "revoked"],
  ]);
  // Again changes nothing.
  expect((await keys("revoke", rotated.id, "--env", "local", "--json")).stdout).toBe(revoked.stdout);
  expect((await keys("rotate", rotated.id, "--env", "local")).stderr).toMatch(/is revoked; create a new key/);

  const table = await keys("list", "--env", "local");
  expect(table.stdout).toMatch(/^ID +STATUS +SCOPES +CREATED +EXPIRES +NAME\n/);
  for (const secret of [key, rotated.key]) expect(table.stdout + JSON.stringify(all)).not.toContain(secret);
});

test("without --json, the key stands alone on standard output", async () => {
  const { code, stdout, stderr } = await keys("create", "--env", "local", "--name", "shop", "--scopes", "pets:read");
  expect(code).toBe(0);
  expect(isWellFormedKey(stdout.trim(), "local")).toBe(true);
  expect(stdout).toMatch(/^\S+\n$/);
  expect(stderr).toContain('"shop", pets:read, never expires.');
  expect(stderr).not.toContain(stdout.trim());
});

test("help is printed for the asking", async () => {
  for (const args of [["--help"], [], ["create", "--help"]]) {
    expect(await keys(...args)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^Usage: /), stderr: "" });
  }
});

describe("a mistake is one clear line, a failure code, and no change", () => {
  let before: unknown;
  beforeAll(async () => {
    before = await list();
  });

  test.each([
    [["create", "--name", "x"], /^Required option '--env <local\|staging\|production>' not specified/],
    [
      ["create", "--env", "moon", "--name", "x"],
      /'moon' is invalid\. The environments are local, staging and production\./,
    ],
    [["create", "--env", "local"], /^Required option '--name <name>' not specified/],
    [
      ["create", "--env", "local", "--name", " "],
      /^Option '--name <name>' argument ' ' is invalid\. A name has 1 to 100 printable/,
    ],
    [["create", "--env", "local", "--name", "x", "--scopes", "pets:fly"], / There is no scope pets:fly\./],
    [
      ["create", "--env", "local", "--name", "x", "--expires", "tomorrow"],
      /^Option '--expires <when>' argument 'tomorrow' is invalid\. It takes a date/,
    ],
    [["create", "--env", "local", "--name", "x", "--expires", "2027-02-30"], / There is no date 2027-02-30\./],
    [["create", "--env", "local", "--name", "x", "--expires", "2020-01-01"], / 2020-01-01 is in the past\./],
    [["create", "--env", "local", "--name", "x", "--expires", "0d"], / 0d is in the past\./],
    [
      ["create", "ci", "--env", "local", "--name", "x"],
      /^Too many arguments for 'create'\. Expected 0 arguments but got 1: ci\./,
    ],
    [["create", "--env", "local", "--name", "x", "--nmae", "y"], /^Unknown option '--nmae' \(Did you mean --name\?\)/],
    [["rotate", "--env", "local"], /^Missing required argument 'id'/],
    [
      ["rotate", "key_0", "--env", "local", "--overlap", "long"],
      /^Option '--overlap <duration>' argument 'long' is invalid\. A duration is/,
    ],
    [["rotate", "key_0", "--env", "local"], /^There is no key key_0 in local\./],
    [["revoke", "key_0", "--env", "local"], /^There is no key key_0 in local\./],
    [["create", "--env", "local", "--name", "x", "--expires", "2027-02-30T00:00:00Z"], / There is no date/],
    [["create", "--env", "local", "--name", "x", "--expires", "9999-12-31T23:59:59-01:00"], / There is no date/],
    [["create", "--env", "local", "--name", "a\u202eb"], / A name has 1 to 100 printable characters\./],
    [["revoke", "key_0", "--env", "local", "--overlap", "24h"], /^Unknown option '--overlap'/],
    [["destroy", "--env", "local"], /^Unknown command 'destroy'/],
    [["create", "--env", "production", "--name", "x"], /^This changes keys of production\. Say --yes\./],
    [["revoke", "key_0", "--env", "production"], /^This changes keys of production\. Say --yes\./],
    // Neither logged in nor on a network.
    [["create", "--env", "staging", "--name", "x"], /\S/],
    [["create", "--env", "production", "--name", "x", "--yes"], /\S/],
    [["list", "--env", "staging"], /\S/],
  ])("%j", async (args, message) => {
    const { code, stdout, stderr } = await keys(...args);
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stdout).toBe("");
    expect(code).toBe(1);
  });

  test("all of them together", async () => {
    expect(await list()).toEqual(before);
  });
});
