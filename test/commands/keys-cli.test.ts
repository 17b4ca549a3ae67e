import { execFile } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { runWrangler } from "../../scripts/wrangler.ts";
import { generateKey, isWellFormedKey } from "../../src/auth/key-format.ts";
import { keyRecordName } from "../../src/auth/key-record.ts";
import { temporaryFolder } from "../built/folder.ts";
import type { Result } from "./cloudflare/checkout.ts";
import { lastLine } from "./cloudflare/fixture.ts";
import { runKeys, useLocalKeys } from "./keys.ts";

const { local, json } = await useLocalKeys();
const state = temporaryFolder();
// Without a login and a network, like a machine that is not set up for staging and production.
for (const name of ["HOME", "XDG_CONFIG_HOME"]) vi.stubEnv(name, state);
for (const name of ["CLOUDFLARE_API_TOKEN", "CLOUDFLARE_ACCOUNT_ID"]) vi.stubEnv(name, "");
vi.stubEnv("CLOUDFLARE_API_BASE_URL", "http://127.0.0.1:9");
vi.stubEnv("CI", "true");

const keys = (...args: string[]) => runKeys(local, args);

/** Runs the command like an operator: in its own process, on storage that no other process uses. */
function keysProcess(...args: string[]): Promise<Result> {
  return keysProcessOf(args);
}

/** @param closed the output that nobody reads. */
function keysProcessOf(args: string[], closed?: "stdout" | "stderr"): Promise<Result> {
  const all = ["ops/run.ts", "keys", ...args, `--persist-to=${join(state, "operator")}`];
  return new Promise((resolve) => {
    const child = execFile(process.execPath, all, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout, stderr });
    });
    if (closed !== undefined) child[closed]?.destroy();
  });
}

test("wrangler and the service read the records that the command writes", async () => {
  const args = ["--env", "local", "--expires", "90d", "--json"];
  const created = await keysProcess("create", "--name", "\u00c9mile's shop", ...args);
  expect(created).toMatchObject({ code: 0, stdout: expect.stringMatching(/^[^\n]+\n$/), stderr: "" });
  const { key, ...record } = JSON.parse(created.stdout);
  const name = await keyRecordName(key);

  const target = ["--binding=API_KEYS", "--env=", "--local", `--persist-to=${join(state, "operator")}`];
  const [entries, value, mistake] = await Promise.all([
    runWrangler(["kv", "key", "list", ...target]),
    runWrangler(["kv", "key", "get", name, "--text", ...target]),
    keysProcess("create", "--env", "local"),
  ]);
  expect(JSON.parse(entries)).toEqual([{ name, metadata: record }]);
  expect(JSON.parse(value)).toEqual(record);
  expect(mistake).toEqual({ code: 1, stdout: "", stderr: "Required option '--name <name>' not specified\n" });
});

test("a key is created when nobody reads the messages, and the command fails when nobody reads the key", async () => {
  const create = ["create", "--env", "local", "--name", "ci"];
  const { code, stdout } = await keysProcessOf(create, "stderr");
  expect([code, isWellFormedKey(stdout.trim(), "local")]).toEqual([0, true]);
  const unread = await keysProcessOf(create, "stdout");
  expect([unread.code, lastLine(unread)]).toEqual([
    1,
    "The output is lost (write EPIPE). If it had a key, revoke that key.",
  ]);
});

test("a key is created and listed, without its secret and within 80 columns", async () => {
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
  const all = await json("list");
  expect(all).toEqual([{ ...record, status: "active" }]);
  const table = await keys("list", "--env", "local");
  expect(table.stdout).toMatch(/^ID +STATUS +CREATED +EXPIRES +NAME\s+SCOPES\n/);
  for (const line of table.stdout.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
  expect(table.stdout + JSON.stringify(all)).not.toContain(key);
});

test("without --json, standard output has only the key", async () => {
  const { code, stdout, stderr } = await keys("create", "--env", "local", "--name", "shop", "--scopes", "pets:read");
  expect(code).toBe(0);
  expect(isWellFormedKey(stdout.trim(), "local")).toBe(true);
  expect(stdout).toMatch(/^\S+\n$/);
  expect(stderr).toMatch(
    /^key_\w+: "shop", pets:read, never expires\.\nThis is the key\. It is shown this once; store it now\.\n$/,
  );
  expect(stderr).not.toContain(stdout.trim());
});

test("--help prints the help", async () => {
  for (const args of [["--help"], [], ["--env", "local"], ["help"], ["create", "--help"], ["help", "create"]]) {
    expect(await keys(...args)).toEqual({ code: 0, stdout: expect.stringMatching(/^Usage: /), stderr: "", opened: [] });
  }
});

describe("a mistake gives one clear line and a failure code", () => {
  const create = ["create", "--env", "local", "--name", "x"];
  const secret = generateKey("local");
  // Another one in each run, so the names of the tests do not have it.
  const onSecret = (command: string): [args: string[], message: RegExp] => [
    [command, "<key>", "--env", "local"],
    /^That is an API key, not an id\. keys show --key-from-stdin reads a key from standard input\.$/m,
  ];
  test.each([
    [["create", "--name", "x"], /^Required option '--env <local\|staging\|production>' not specified/],
    [["create", "--env", "moon", "--name", "x"], / The environments are local, staging and production\./],
    [["create", "--env", "local"], /^Required option '--name <name>' not specified/],
    [["create", "--env", "local", "--name", " "], / A name has 1 to 100 printable characters\./],
    [["create", "--env", "local", "--name", "a\u202eb"], / A name has 1 to 100 printable characters\./],
    [["create", "--env", "local", "--name", "x".repeat(101)], / A name has 1 to 100 printable characters\./],
    [["create", "--env", "local", "--name", "--yes"], /^Option '--name <name>' .* The value is missing\./],
    [[...create, "--persist-to", ""], /^Option '--persist-to <folder>' .* A folder has a name\./],
    [[...create, "--scopes", "pets:fly"], / There is no scope pets:fly\. The scopes are pets:read, pets:write/],
    [
      [...create, "--expires", "tomorrow"],
      /^Option '--expires <when>' argument 'tomorrow' is invalid\. It takes a date/,
    ],
    [[...create, "--expires", "2027-02-30"], / There is no date 2027-02-30\./],
    [[...create, "--expires", "2027-02-30T00:00:00Z"], / There is no date 2027-02-30T00:00:00Z\./],
    [[...create, "--expires", "9999-12-31T23:59:59-01:00"], / There is no date 9999-12-31T23:59:59-01:00\./],
    [[...create, "--expires", "2020-01-01"], / 2020-01-01 is in the past\./],
    [[...create, "--expires", "0d"], / 0d is in the past\./],
    [[...create, "ci"], /^Too many arguments for 'create'\. Expected 0 arguments but got 1: ci\./],
    [[...create, "--nmae", "y"], /^Unknown option '--nmae' \(Did you mean --name\?\)/],
    [["rotate", "--env", "local"], /^Missing required argument 'id'/],
    [["rotate", "key_0", "--env", "local", "--overlap", "long"], / A duration is a number and a unit: 90d/],
    [["revoke", "key_0", "--env", "local", "--overlap", "24h"], /^Unknown option '--overlap'/],
    [["list", "--env", "local", "--ending-within", "soon"], / A duration is a number and a unit: 90d/],
    [["show", "--env", "local"], /^Show takes an id or --key-from-stdin\./],
    [["show", "key_0", "--key-from-stdin", "--env", "local"], /^Show takes an id or --key-from-stdin\./],
    [["destroy", "--env", "local"], /^Unknown command 'destroy'/],
    ...["show", "revoke", "rotate"].map(onSecret),
    [["list", "--env", "staging", "--persist-to", "x"], /^--persist-to is for --env local\./],
    [["create", "--env", "production", "--name", "x"], /^This changes keys of production\. Say --yes\./],
    [["revoke", "key_0", "--env", "production"], /^This changes keys of production\. Say --yes\./],
    [["rotate", "key_0", "--env", "production"], /^This changes keys of production\. Say --yes\./],
  ])("%j, and no storage is opened", async (args, message) => {
    const { stderr, ...outcome } = await keys(...args.map((arg) => (arg === "<key>" ? secret : arg)));
    expect(stderr).toMatch(message);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stderr).not.toContain(secret);
    expect(outcome).toEqual({ code: 1, stdout: "", opened: [] });
  });

  test.each(["rotate", "revoke", "show"])("%s of an unknown key", async (command) => {
    expect(await keys(command, "key_0", "--env", "local")).toMatchObject({
      code: 1,
      stdout: "",
      stderr: "There is no key key_0 in local. keys list shows those there are.\n",
    });
  });

  test("a person answers without a login", async () => {
    expect(await runKeys(local, ["create", "--env", "production", "--name", "x"], "production")).toEqual({
      code: 1,
      stdout: "",
      stderr:
        "There is no login at Cloudflare. Set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID, or run npx wrangler login.\n",
      opened: ["production"],
    });
  });

  test.each(["", "y", "staging"])("a person answers %j to the question about production", async (answer) => {
    expect(await runKeys(local, ["create", "--env", "production", "--name", "x"], answer)).toEqual({
      code: 1,
      stdout: "",
      stderr: "Nothing was changed.\n",
      opened: [],
    });
  });
});
