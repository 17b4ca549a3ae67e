import { describe, expect, test, vi } from "vitest";
import { type Environment, generateKey } from "../../src/auth/key-format.ts";
import { type KeyRecord, keyRecordName } from "../../src/auth/key-record.ts";
import { at, DAY, HOUR, type Outcome, runKeys, START, useLocalKeys } from "./keys.ts";

const { local, json, create, rotate, without } = await useLocalKeys();

function showSecret(input: string, env: Environment = "local", ...args: string[]): Promise<Outcome> {
  return runKeys(local, ["show", "--key-from-stdin", "--env", env, ...args], undefined, input);
}

describe("show <id>", () => {
  test("shows the record without a secret, and only the relatives that exist", async () => {
    const { key, ...record } = await create("--scopes", "pets:read", "--expires", "90d");
    const { stdout, ...outcome } = await runKeys(local, ["show", record.id, "--env", "local", "--json"]);
    expect(outcome).toEqual({ code: 0, stderr: "", opened: ["local"] });
    expect(JSON.parse(stdout)).toEqual({ ...record, status: "active", successors: [] });
    expect(stdout).not.toContain(key);
  });

  test("shows the predecessor and the successors of the key, each with its status", async () => {
    const first = await create();
    const second = await rotate(first);
    const third = await rotate(second);
    const other = await rotate(second);
    await json("revoke", third.id);
    expect(await json("show", first.id)).toMatchObject({ successors: [{ id: second.id, status: "active" }] });
    expect(await json("show", second.id)).toMatchObject({
      predecessor: { id: first.id, status: "active" },
      successors: [
        { id: third.id, status: "revoked" },
        { id: other.id, status: "active" },
      ],
    });
    vi.setSystemTime(START + 2 * DAY);
    expect(await json("show", other.id)).toMatchObject({
      predecessor: { id: second.id, status: "expired" },
      successors: [],
    });
  });

  test("shows all of that as text, one per line", async () => {
    const first = await create("--expires", "90d");
    const second = await rotate(first);
    const third = await rotate(second);
    await json("revoke", second.id);
    const { stdout } = await runKeys(local, ["show", second.id, "--env", "local"]);
    expect(stdout.split("\n")).toEqual([
      `ID           ${second.id}`,
      "NAME         shop",
      "STATUS       revoked",
      "SCOPES       pets:read pets:write",
      "CREATED      2027-01-01T00:00:00",
      "EXPIRES      2027-01-02T00:00:00, before its rotation 2027-04-01T00:00:00",
      "REVOKED      2027-01-01T00:00:00",
      `REPLACES     ${first.id} (active)`,
      `REPLACED BY  ${third.id} (active)`,
      "REQUESTS     only the log has them: docs/observability.md, Requests of each key",
      "",
    ]);
  });

  test("names a successor that the listing does not have yet, as a rotation does", async () => {
    const first = await create();
    const { id } = await rotate(first);
    for (const [command, field] of [
      ["show", "successors"],
      ["rotate", "earlierSuccessors"],
    ] as const) {
      const { stdout } = await runKeys(without(id), [command, first.id, "--env", "local", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({ [field]: [{ id, status: "unknown" }] });
    }
  });
});

// documented-commands.test.ts reads the standard input of a process.
describe("show --key-from-stdin", () => {
  test("shows the record of the key, and never the key", async () => {
    await create();
    const { key, ...record } = await create("--scopes", "pets:read");
    for (const input of [key, `${key}\n`, `  ${key}\r\n`]) {
      const outcome = await showSecret(input, "local", "--json");
      expect(outcome).toMatchObject({ code: 0, stderr: "" });
      expect(JSON.parse(outcome.stdout)).toEqual({ ...record, status: "active", successors: [] });
      expect(JSON.stringify(outcome)).not.toContain(key);
    }
    expect((await showSecret(key)).stdout).toContain(`ID        ${record.id}\n`);
  });

  test.each<[string, string, Environment, RegExp]>([
    ["nothing", "", "local", /^Standard input holds no API key, or more than one\.\n$/],
    ["another secret", "hunter2", "local", /^Standard input holds no API key, or more than one\.\n$/],
    [
      "two keys",
      `${generateKey("local")}\n${generateKey("local")}`,
      "local",
      /^Standard input holds no API key, or mo/,
    ],
    ["a mistyped key", `${generateKey("local")}x`, "local", /^Standard input holds no API key, or more than one\.\n$/],
    ["a key of staging", generateKey("staging"), "production", /^Standard input holds a key of staging\. Say --env st/],
    ["a key of production", generateKey("production"), "local", /^Standard input holds a key of production\. Say --e/],
  ])("refuses %s in one line that does not repeat it, and opens no storage", async (_, input, env, message) => {
    const { stderr, ...outcome } = await showSecret(input, env);
    expect(outcome).toEqual({ code: 1, stdout: "", opened: [] });
    expect(stderr).toMatch(message);
    for (const secret of input.split("\n").filter((line) => line !== "")) expect(stderr).not.toContain(secret);
  });

  test("reports that a key without a record, or with a corrupt one, is unusable", async () => {
    const key = generateKey("local");
    const refusal = { code: 1, stdout: "", stderr: "local has no valid record of this key: nobody can use it.\n" };
    expect(await showSecret(key)).toMatchObject(refusal);
    await local.put(await keyRecordName(key), { value: "{" });
    expect(await showSecret(key)).toMatchObject(refusal);
  });
});

test("list --ending-within lists the valid keys that expire within the time, in order of expiry", async () => {
  const list = (duration: string, ...more: string[]) =>
    runKeys(local, ["list", "--env", "local", "--ending-within", duration, ...more]);
  const ending = async (duration: string): Promise<string[]> =>
    JSON.parse((await list(duration, "--json")).stdout).map(({ id }: KeyRecord) => id);
  const late = await create("--expires", at(START + 30 * DAY));
  const soon = await create("--expires", "2h");
  await create();
  await json("revoke", (await create("--expires", "2h")).id);
  const rotated = await create();
  await rotate(rotated);
  expect(await ending("30d")).toEqual([soon.id, rotated.id, late.id]);
  expect(await ending("2h")).toEqual([soon.id]);
  const { stdout } = await list("2h");
  expect(stdout).toMatch(/^ID +STATUS +CREATED +EXPIRES +NAME\s+SCOPES\n/);
  expect(stdout).toContain(`${soon.id}  active`);
  expect((await list("1h")).stdout).toBe("No key ends so soon.\n");
  // Keys that have ended do not end soon.
  vi.setSystemTime(START + 3 * HOUR);
  expect(await ending("1d")).toEqual([rotated.id]);
});
