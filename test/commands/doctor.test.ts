import { execFileSync } from "node:child_process";
import { beforeAll, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { CHECKS } from "../../ops/doctor/checks.ts";
import { run as runDoctor } from "../../ops/doctor/command-line.ts";
import { run as runWebhooks } from "../../ops/webhooks/command-line.ts";
import { git } from "../../scripts/git.ts";
import { temporaryFolder } from "../built/folder.ts";
import { addReleases, lastLine, runHere, useAccount } from "./cloudflare/fixture.ts";
import { Refusal } from "./cloudflare/route.ts";
import { startService } from "./cloudflare/service.ts";

// npm run doctor and npm run webhooks, in the production of a fake account. The real service responds about webhooks.

const PRODUCTION = "petstore-production";
const fixture = useAccount(PRODUCTION);
beforeAll(startService);
beforeEach(() => {
  const { api } = fixture;
  addReleases(api, PRODUCTION, 2);
  api.databases.query(PRODUCTION, "CREATE TABLE last_backup (id INTEGER PRIMARY KEY, moment TEXT)");
  api.databases.query(
    PRODUCTION,
    "INSERT INTO last_backup VALUES (1, strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-29 hours', '-59 minutes'))",
  );
  for (const id of [1, 2, 3]) addWebhook(id);
});

function addWebhook(id: number, enabled = 1): void {
  fixture.api.databases.query(
    PRODUCTION,
    `INSERT INTO webhooks (id, tag, url, types, enabled, created_by, created_at, place) VALUES (${id}, random() & 4294967295,
      'https://shop.example/secret', '["pet.created"]', ${enabled}, 'key_1', '2026-01-01T00:00:00.000Z', '000000000000000100000001')`,
  );
}

const doctor = () => runHere(runDoctor, ["--env", "production", "--url", fixture.edge.url]);
const webhooks = (...args: string[]) =>
  runHere(runWebhooks, [...args, "--env", "production", "--yes", "--url", fixture.edge.url]);
const enabled = () =>
  fixture.api.databases.query(PRODUCTION, "SELECT enabled FROM webhooks ORDER BY id").map((row) => row["enabled"]);

test("all is well, and no key of the command is left", async () => {
  const result = await doctor();
  expect(result, result.stdout).toMatchObject({ code: 0, stderr: "" });
  const lines = result.stdout.trim().split("\n");
  expect(lines.map((line) => line.split(/ +/)[1])).toEqual(Object.keys(CHECKS));
  expect(lines.filter((line) => !line.startsWith("ok "))).toEqual([]);
  expect(fixture.api.namespaces.titled(`${PRODUCTION}-api-keys`)?.entries.size).toBe(0);
});

const query = (sql: string) => fixture.api.databases.query(PRODUCTION, sql);

test.each([
  ["SELECT 1", "The hourly job will fill the index anew"],
  [
    "UPDATE search_index SET rules = '2', place = (SELECT max(id) FROM events), filled_to = 7",
    "The index is filled up to animal 7 of 0",
  ],
  [
    "UPDATE search_index SET rules = '2', place = (SELECT max(id) FROM events), ready = 1",
    "The index has every animal, but for 0 events",
  ],
  ["DROP TABLE search_index", "This version has no index"],
])("the doctor says how far the index of words is after %s", async (sql, text) => {
  query(sql);
  expect((await doctor()).stdout).toMatch(new RegExp(`^ok +search +${text}$`, "m"));
});

const ILLNESSES: { [name: string]: { spoil: () => unknown; line: RegExp } } = {
  "a service that does not answer": {
    spoil: () => (fixture.edge.failure = 500),
    line: /^WRONG +version +GET http\S+\/health is 500\.$/m,
  },
  "another version than the deployed one": {
    spoil: () => {
      const { workers } = fixture.api;
      const worker = workers.all.get(PRODUCTION) ?? expect.unreachable();
      workers.release(worker, worker.versions[0]?.bindings ?? []);
      workers.staleLists = Infinity;
    },
    line: /^WRONG +version +GET http\S+\/health is version \S+, and version \S+ has 100 %\.$/m,
  },
  "a missing migration": {
    spoil: () => query("DELETE FROM d1_migrations WHERE name LIKE '0009%'"),
    line: /^WRONG +migrations +The database lacks 0009_webhooks\.sql\.$/m,
  },
  "a missing migration of the deployed commit": {
    spoil: () => {
      // A repository with one commit, which has one migration.
      const folder = temporaryFolder(onTestFinished);
      git("init", "--quiet", "--bare", folder);
      vi.stubEnv("GIT_DIR", folder);
      const input =
        "commit refs/heads/main\ncommitter A <a@example.com> 0 +0000\ndata 0\nM 100644 inline drizzle/9999_its_own.sql\ndata 0\n";
      execFileSync("git", ["fast-import", "--quiet"], { input });
      const { workers } = fixture.api;
      const worker = workers.all.get(PRODUCTION) ?? expect.unreachable();
      workers.release(worker, worker.versions[0]?.bindings ?? [], git("rev-parse", "main"));
    },
    line: /^WRONG +migrations +The database lacks 9999_its_own\.sql\.$/m,
  },
  "a restore that has not ended": {
    spoil: () => query("CREATE TABLE restore_progress (digest TEXT); INSERT INTO restore_progress VALUES ('')"),
    line: /^WRONG +migrations +A restore has not ended: repeat it\.$/m,
  },
  "another database": {
    spoil: () => {
      const other = fixture.api.databases.add("other", "auto").uuid;
      for (const { bindings } of fixture.api.workers.all.get(PRODUCTION)?.versions ?? [])
        for (const binding of bindings) if (binding.name === "DB") binding["id"] = other;
    },
    line: /^WRONG +bindings +The database is \S+, and wrangler\.toml has \S+\.$/m,
  },
  "a version without a binding": {
    spoil: () => {
      for (const { bindings } of fixture.api.workers.all.get(PRODUCTION)?.versions ?? [])
        bindings.splice(0, Infinity, ...bindings.filter(({ name }) => name !== "RATE_LIMITER"));
    },
    line: /^WRONG +bindings +The deployed version lacks RATE_LIMITER\.$/m,
  },
  "a database that is nearly full": {
    spoil: () => Object.assign(fixture.api.databases.find(PRODUCTION), { file_size: 8.5e9 }),
    line: /^WRONG +database +petstore-production has 8\.50 GB of 10$/m,
  },
  "a night without a backup": {
    spoil: () => query("UPDATE last_backup SET moment = strftime('%Y-%m-%dT%H:%M:%fZ', 'now', '-30 hours')"),
    line: /^WRONG +backup +The last one is of \S+, 30 hours ago$/m,
  },
  "no backup": { spoil: () => query("DELETE FROM last_backup"), line: /^WRONG +backup +There is none\.$/m },
  "a webhook that its receiver ended": {
    spoil: () => query("UPDATE webhooks SET enabled = 0, disabled_reason = 'gone' WHERE id = 2"),
    line: /^WRONG +webhooks +2 of key_1: disabled \(gone\), 0 pending, last success never$/m,
  },
  "a wrong clock": {
    spoil: () => vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_600_000 }),
    line: /^WRONG +clock +3\d\d\d s from Cloudflare's$/m,
  },
  "a token that may not ask D1": {
    spoil: () => (fixture.api.rights = ["Workers Scripts: Read", "Workers KV Storage: Edit"]),
    line: /^WRONG +token +Cloudflare refused POST \/d1\/\S+: .* lacks the permission "D1: Edit"/m,
  },
};

test.each(Object.keys(ILLNESSES))("the doctor finds %s", async (name) => {
  const { spoil, line } = ILLNESSES[name] ?? expect.unreachable();
  onTestFinished(() => void vi.useRealTimers());
  spoil();
  const result = await doctor();
  expect(result.code).toBe(1);
  expect(result.stdout).toMatch(line);
  expect(lastLine(result)).toMatch(/^Wrong: .+\. docs\/runbook\/doctor\.md says what to do\.$/);
});

test("the doctor names the variables of wrangler.toml that are not released", async () => {
  const released = { READ_MAX_AGE: "7", READS: "primary", CONSOLE: "on" };
  for (const { bindings } of fixture.api.workers.all.get(PRODUCTION)?.versions ?? [])
    for (const [name, text] of Object.entries(released)) bindings.push({ name, type: "plain_text", text });
  const text =
    "READ_MAX_AGE is 7, and 0 in wrangler.toml; READS is primary, and nearest in wrangler.toml: not released";
  expect((await doctor()).stdout).toContain(`bindings    ${text}\n`);
});

test("a list shows the hosts alone, because an address may have a secret", async () => {
  const { code, stdout } = await webhooks("list");
  expect(code).toBe(0);
  expect(stdout).toContain("\n2   shop.example  key_1       ok, 0 pending, last success never\n");
  expect(stdout).not.toContain("/secret");
});

test("a machine whose clock is wrong asks the service too", async () => {
  const DAY = 86_400_000;
  onTestFinished(() => void vi.useRealTimers());
  vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - DAY });
  fixture.api.clock = DAY;
  expect(await webhooks("list", "--wait=0")).toMatchObject({ code: 0, stderr: "" });
});

test("resume enables what stop disabled, and nothing else", async () => {
  query("UPDATE webhooks SET enabled = 0 WHERE id = 1");
  expect(await webhooks("stop", "2")).toMatchObject({ code: 0, stdout: "2 (shop.example) is stopped.\n" });
  const all =
    "1 was disabled already.\n2 (shop.example) is stopped.\n3 (shop.example) is stopped.\n4 (shop.example) is stopped.\n";
  addWebhook(4);
  expect(await webhooks("stop", "--all")).toMatchObject({ code: 0, stdout: all });
  expect(enabled()).toEqual([0, 0, 0, 0]);
  expect((await doctor()).stdout).toMatch(/^ok +webhooks +4, none fails, 3 stopped by an operator$/m);
  // Its owner disables it too, for a reason of their own.
  query("UPDATE webhooks SET version = version + 1 WHERE id = 3");
  query("DELETE FROM webhooks WHERE id = 4");
  const { stdout } = await webhooks("resume");
  expect(stdout.split("\n").slice(0, -1)).toEqual([
    "2 (shop.example) delivers again.",
    "3 was changed or deleted since it was stopped. It stays as it is.",
    "4 was changed or deleted since it was stopped. It stays as it is.",
  ]);
  expect(enabled()).toEqual([0, 1, 0]);
  expect((await webhooks("resume")).stdout).toBe("No webhook is stopped.\n");
});

const DISABLE = "UPDATE webhooks SET enabled = 0, version = version + 1 WHERE id = 2";

test("resume leaves a webhook disabled that its owner disabled while stop ran", async () => {
  const { databases } = fixture.api;
  databases.atQuery = (sql, run) => {
    if (sql.includes("REPLACE INTO stopped_webhooks")) databases.use(PRODUCTION, (sqlite) => sqlite.exec(DISABLE));
    return run();
  };
  expect((await webhooks("stop", "2")).stdout).toBe("2 was disabled already.\n");
  expect((await webhooks("resume")).stdout).toBe("No webhook is stopped.\n");
  expect(enabled()).toEqual([1, 0, 1]);
});

test("a stop that ended right after its note has disabled the webhook, and a repetition says so", async () => {
  const { databases } = fixture.api;
  databases.atQuery = (sql, run) => {
    run();
    if (sql.includes("REPLACE INTO stopped_webhooks")) throw new Refusal(400, 7400, "Killed");
    return [];
  };
  expect((await webhooks("stop", "2")).code).toBe(1);
  expect(enabled()).toEqual([1, 0, 1]);
  databases.atQuery = (_sql, run) => run();
  expect((await webhooks("stop", "2")).stdout).toBe("2 (shop.example) is stopped.\n");
  expect((await webhooks("resume")).stdout).toBe("2 (shop.example) delivers again.\n");
});

test("a webhook is stopped that its owner enables right after", async () => {
  const { databases } = fixture.api;
  const enable = () => {
    databases.atQuery = (_sql, run) => run();
    databases.use(PRODUCTION, (sqlite) => sqlite.exec("UPDATE webhooks SET enabled = 1, version = version + 1"));
  };
  databases.atQuery = (sql, run) => {
    const rows = run();
    if (sql.includes("REPLACE INTO stopped_webhooks")) enable();
    return rows;
  };
  expect((await webhooks("stop", "2")).stdout).toBe("2 (shop.example) is stopped.\n");
  expect(enabled()).toEqual([1, 0, 1]);
});

test("resume knows of a stop that comes right after it enabled the webhook", async () => {
  const { databases } = fixture.api;
  await webhooks("stop", "2");
  databases.atQuery = (sql, run) => {
    const note = "REPLACE INTO stopped_webhooks SELECT id, version FROM webhooks WHERE id = 2";
    if (sql.includes("DELETE FROM stopped_webhooks"))
      databases.use(PRODUCTION, (sqlite) => sqlite.exec(`${DISABLE}; ${note}`));
    return run();
  };
  await webhooks("resume");
  expect(enabled()).toEqual([1, 0, 1]);
  databases.atQuery = (_sql, run) => run();
  expect((await webhooks("resume")).stdout).toBe("2 (shop.example) delivers again.\n");
});

test("stop fails for a webhook that does not exist, and asks in production", async () => {
  expect(lastLine(await webhooks("stop", "9"))).toMatch(/^There is no webhook/);
  const asked = await runHere(runWebhooks, ["stop", "--all", "--env", "production", "--url", fixture.edge.url]);
  expect(asked).toMatchObject({ code: 1, stderr: "This changes webhooks of production. Say --yes.\n" });
  expect(enabled()).toEqual([1, 1, 1]);
});

test("why tells of an animal what each webhook did with its events", async () => {
  query("DELETE FROM webhooks WHERE id > 1; UPDATE webhooks SET enabled = 0");
  for (const type of ["created", "updated"])
    query(`INSERT INTO events (tag, type, version, data, created_at)
      VALUES (5, 'pet.${type}', 1, '{"id":7}', '2026-01-01T00:00:00.000Z')`);
  const { stdout } = await webhooks("why", "pet/7");
  const [first = "", second = "", , webhook, ...deliveries] = stdout.split("\n");
  const [created = ""] = /^evt_\w+/.exec(first) ?? [];
  expect([first, second].map((line) => line.split(" ")[1])).toEqual(["pet.created", "pet.updated"]);
  expect(webhook).toBe("Webhook 1 (shop.example): disabled, 0 pending, last success never");
  expect(deliveries[0]).toBe(`  ${created} pet.created: waits until the webhook is enabled`);
  expect(deliveries[1]).toMatch(/ pet\.updated: it does not take this type$/);
  expect((await webhooks("why", created)).stdout).toContain(deliveries[0]);
  expect((await webhooks("why", "pet/8")).stdout).toMatch(/^The feed has no such event/);
  expect((await webhooks("why", "pet")).code).toBe(1);
});
