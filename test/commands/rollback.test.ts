import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { run as runRelease, runRollback } from "../../ops/release/command-line.ts";
import { Cloudflare } from "../../ops/release/cloudflare.ts";
import type { Deployment } from "../../ops/release/deployment.ts";
import { type History, historyOf } from "../../ops/release/history.ts";
import { type Lease, takeLease } from "../../ops/release/lease.ts";
import { temporaryFolder } from "../built/folder.ts";
import { ACCOUNT } from "./cloudflare/api.ts";
import type { Result } from "./cloudflare/checkout.ts";
import {
  addReleases,
  failureOf,
  lastLine,
  makeSecondGradual,
  removeClasses,
  runHere,
  succeed,
  useAccount,
} from "./cloudflare/fixture.ts";
import { Refusal } from "./cloudflare/route.ts";
import type { Binding } from "./cloudflare/workers.ts";

const WORKER = "petstore-staging";
const cloudflare = useAccount(WORKER);

const target = () => ["--env", "staging", "--wait", "0", "--url", cloudflare.edge.url];
const rollback = (args: readonly string[] = []): Promise<Result> => runHere(runRollback, [...target(), ...args]);
const promote = (version: string): Promise<Result> => runHere(runRelease, [...target(), "--promote", version]);

const worker = () => cloudflare.api.workers.all.get(WORKER) ?? expect.unreachable();
const shares = () => worker().deployments.at(-1)?.versions;
const whole = (id?: string) => [{ version_id: id, percentage: 100 }];
const lease = () =>
  cloudflare.api.databases.query(WORKER, "SELECT holder FROM release_lease WHERE expires_at > unixepoch()");

test("a rollback returns to the version before, or to the one that is named", async () => {
  const { api, edge } = cloudflare;
  const [first, second] = addReleases(api, WORKER, 3).versions;
  const back = await rollback();
  expect(back, back.stderr).toMatchObject({
    code: 0,
    stdout: `\nVersion ${second?.id} gets all requests of ${edge.url}.\n`,
  });
  expect(back.stderr).toContain(`This takes the code of staging back to ${second?.id}, v0.1.0, `);
  expect(back.stderr).toContain("GET /v1/pets is 200 with a key.");
  expect(shares()).toEqual(whole(second?.id));
  // Bad code does not go on in an object.
  expect(worker().deployments.at(-1)?.code_update_strategy).toBeUndefined();
  expect(api.namespaces.titled(`${WORKER}-api-keys`)?.entries.size).toBe(0);
  expect(lease()).toEqual([]);

  await succeed(rollback(["--to", first?.id ?? ""]));
  expect(shares()).toEqual(whole(first?.id));
});

test("a rollback that is repeated stays where it is", async () => {
  const { api, edge } = cloudflare;
  const [, second, third] = addReleases(api, WORKER, 3).versions;
  edge.failure = 503;
  expect(await failureOf(rollback())).toBe(
    `The smoke test of ${edge.url} failed: GET /health is 503. Version ${second?.id} has all requests, but nobody knows whether it is ready.`,
  );
  expect(shares()).toEqual(whole(second?.id));
  expect(await rollback()).toMatchObject({ code: 1, stdout: "" });
  edge.failure = undefined;

  const again = await succeed(rollback());
  expect(again.stderr).toContain(`The code of staging is already rolled back to ${second?.id}, v0.1.0, `);
  expect(again.stderr).toContain("To go back further, say --to.");
  expect(shares()).toEqual(whole(second?.id));
  expect(worker().deployments).toHaveLength(4);

  // Somebody may still go forward, by name.
  await succeed(rollback(["--to", third?.id ?? ""]));
  expect(shares()).toEqual(whole(third?.id));
});

test.each([
  { deployments: 10, versions: 100 },
  { deployments: 10, versions: 5 },
])("a rollback that is repeated stays where it is when the lists end after %o", async (bounds) => {
  const { api } = cloudflare;
  Object.assign(api.workers.bounds, bounds);
  // The list of deployments ends before the first time of this version.
  const [old] = addReleases(api, WORKER, bounds.deployments + 1).versions;
  await succeed(rollback(["--to", old?.id ?? ""]));
  expect(shares()).toEqual(whole(old?.id));
  const again = await rollback();
  expect(again.stderr).toContain(`The code of staging is already rolled back to ${old?.id}, v0.0.0, `);
  expect(shares()).toEqual(whole(old?.id));
  expect(worker().deployments).toHaveLength(bounds.deployments + 2);

  // And after another release, it returns to the one before.
  api.workers.release(worker(), worker().versions[0]?.bindings ?? []);
  await succeed(rollback());
  expect(shares()).toEqual(whole(old?.id));
});

describe("a rollback to another secret of customer tokens", () => {
  const withSecrets = () => {
    const [first, second] = addReleases(cloudflare.api, WORKER, 2).versions;
    if (second)
      second.bindings = second.bindings.map((one) => (one.name === "TOKEN_SECRET" ? { ...one, text: "new" } : one));
    return { first: first?.id, second: second?.id };
  };

  test("says what that means, and needs an option", async () => {
    const { first, second } = withSecrets();
    for (const more of [[], ["--yes"]]) {
      const refused = await rollback(more);
      expect(refused).toMatchObject({ code: 1, stdout: "" });
      expect(refused.stderr).toContain(
        `Version ${first} has another secret for customer tokens than the newest one, or none. If it is not that of now, the tokens of now end, and those that it signed before are good again until they expire. A leaked one is in use again.`,
      );
      expect(lastLine(refused)).toBe(
        `Nothing was changed. To go back nevertheless: npm run rollback -- --env staging --to ${first} --other-token-secret`,
      );
      expect(shares()).toEqual(whole(second));
    }
    await succeed(rollback(["--other-token-secret"]));
    expect(shares()).toEqual(whole(first));
    const again = await succeed(rollback());
    expect(again.stderr).not.toContain("another secret");
  });

  test("leaves any other refusal as it is", async () => {
    const { second } = withSecrets();
    cloudflare.api.break("POST", "/deployments", new Refusal(400, 10_021, "No."));
    expect((await rollback(["--other-token-secret"])).code).toBe(1);
    expect(shares()).toEqual(whole(second));
    expect(cloudflare.api.requests.filter((request) => /^POST .*\/deployments/.test(request))).toHaveLength(1);
  });
});

test("a rollback to a version from before a class of Durable Objects is refused", async () => {
  const { api } = cloudflare;
  const before = addReleases(api, WORKER, 2);
  const [first, second] = before.versions;
  removeClasses(before, [first ?? expect.unreachable()]);
  for (const args of [[], ["--to", first?.id ?? ""]])
    expect(await failureOf(rollback(args))).toBe(
      `Version ${first?.id} does not have the migration v1 of Durable Objects, so Cloudflare refuses to go back to it. ` +
        "Take the change back in a commit that keeps the migration, and release it: npm run release -- --env staging",
    );
  expect(api.requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
  // The API may not tell the migration of the present version, and then Cloudflare decides.
  removeClasses(worker(), [second ?? expect.unreachable()]);
  expect(await failureOf(rollback())).toMatch(/: A Durable Object migration has occurred between the two versions/);
  expect(shares()).toEqual(whole(second?.id));
});

test("a rollback works while D1 and KV fail, and does not say that the service is ready", async () => {
  const { api } = cloudflare;
  const [first] = addReleases(api, WORKER, 2).versions;
  api.break("POST", "/query");
  api.break("PUT", "/values/", new Refusal(403, 10_000, "Authentication error"));
  const back = await rollback();
  expect(back).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(back)).toBe(`Version ${first?.id} has all requests, but nobody knows whether it is ready.`);
  expect(back.stderr).toContain("This goes on without a lease");
  expect(shares()).toEqual(whole(first?.id));
});

test("a rollback goes on when D1 fails after it took the lease", async () => {
  const { api, edge } = cloudflare;
  const [first] = addReleases(api, WORKER, 2).versions;
  const put = api.hold("PUT", "/values/");
  const running = rollback();
  await put;
  api.databases.failure = new Refusal(503, 7_500, "D1 is sick", { "Retry-After": "0" });
  api.repair();
  const back = await running;
  expect(back).toMatchObject({ code: 1, stdout: "" });
  expect(back.stderr).toContain(
    "\nNobody knows whether the lease of this command lasts: Cloudflare could not answer POST /d1/",
  );
  expect(back.stderr).toContain(`The smoke test of ${edge.url} failed: GET /v1/pets with the key is 503, not 200.`);
  expect(shares()).toEqual(whole(first?.id));
});

test("a rollback changes nothing when another command has taken its lease", async () => {
  const { api } = cloudflare;
  const [, second] = addReleases(api, WORKER, 2).versions;
  const put = api.hold("PUT", "/values/");
  const running = rollback();
  await put;
  api.databases.query(WORKER, "UPDATE release_lease SET token = 'theirs', holder = 'the release of v2'");
  api.repair();
  expect(await failureOf(running)).toMatch(/^This stopped before it deployed anything, because of the release of v2\./);
  expect(shares()).toEqual(whole(second?.id));
});

test("a rollback changes nothing when somebody else changed the deployment meanwhile", async () => {
  const { api } = cloudflare;
  const { versions } = addReleases(api, WORKER, 3);
  const bindings = versions[0]?.bindings ?? [];
  const put = api.hold("PUT", "/values/");
  const running = rollback();
  await put;
  const fourth = api.workers.release(worker(), bindings);
  api.repair();
  expect(await failureOf(running)).toBe(
    `Somebody changed the deployment of ${WORKER} meanwhile: version ${fourth.id} has 100 %. Look at it, and start again.`,
  );
  expect(shares()).toEqual(whole(fourth.id));
});

test.each(["cut", "lost"] as const)("a rollback knows what happened when the connection is %s", async (effect) => {
  const { api } = cloudflare;
  const [first] = addReleases(api, WORKER, 2).versions;
  api.break("POST", "/deployments", effect, { times: 1 });
  await succeed(rollback());
  expect(shares()).toEqual(whole(first?.id));
  expect(worker().deployments).toHaveLength(3);
});

test("a rollback finds the account with only a token", async () => {
  const [first] = addReleases(cloudflare.api, WORKER, 2).versions;
  vi.stubEnv("CLOUDFLARE_ACCOUNT_ID", "");
  await succeed(rollback());
  expect(shares()).toEqual(whole(first?.id));
});

test("a rollback works with wrangler's login", async () => {
  const { api } = cloudflare;
  const [first] = addReleases(api, WORKER, 2).versions;
  const home = temporaryFolder(onTestFinished);
  mkdirSync(join(home, ".wrangler/config"), { recursive: true });
  const file = join(home, ".wrangler/config/default.toml");
  const login = (token: string) =>
    `oauth_token = "${token}"\nexpiration_time = "2099-01-01T00:00:00.000Z"\nscopes = ["account:read"]\n`;
  writeFileSync(file, login("login-of-the-tests"));
  const variables = { CLOUDFLARE_API_TOKEN: "", CLOUDFLARE_ACCOUNT_ID: "", HOME: home, XDG_CONFIG_HOME: home };
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value);
  // The token ends after some requests, and wrangler has another one by then.
  api.watch = () => {
    if (api.requests.length < 5) return;
    api.expired.add("login-of-the-tests");
    writeFileSync(file, login("next-login-of-the-tests"));
  };
  const back = await succeed(rollback());
  expect(shares()).toEqual(whole(first?.id));
  expect([...api.tokens]).toEqual(["login-of-the-tests", "next-login-of-the-tests"]);
  expect(back.stderr + back.stdout).not.toContain("login-of-the-tests");
});

test("a rollback ends a gradual release, and a repetition changes nothing", async () => {
  const [first] = makeSecondGradual(addReleases(cloudflare.api, WORKER, 2));
  await succeed(rollback());
  expect(shares()).toEqual(whole(first));
  await succeed(rollback());
  expect(worker().deployments).toHaveLength(3);
});

const GONE = "11111111-1111-4111-8111-111111111111";

test.each<[what: string, binding: string, change: (binding: Binding) => Binding[], told: string]>([
  ["lacks only DB", "DB", () => [], ""],
  ["lacks only API_KEYS", "API_KEYS", () => [], ""],
  [
    "has a database that is gone",
    "DB",
    (binding) => [{ ...binding, id: GONE }],
    ` is left out: its database ${GONE} is gone.\n`,
  ],
])("a rollback skips a version that %s", async (_, binding, change, told) => {
  const [first, second] = addReleases(cloudflare.api, WORKER, 3).versions;
  if (second === undefined) expect.unreachable();
  second.bindings = second.bindings.flatMap((each) => (each.name === binding ? change(each) : each));
  const back = await succeed(rollback());
  expect(/ is left out.*\n/.exec(back.stderr)?.[0] ?? "").toBe(told);
  expect(shares()).toEqual(whole(first?.id));
});

test("a rollback without a previous version is refused with one line", async () => {
  const nothing = await rollback();
  expect(nothing).toEqual({
    code: 1,
    stdout: "",
    stderr: "petstore-staging is not deployed, so there is no version. To release: npm run release -- --env staging\n",
  });
  addReleases(cloudflare.api, WORKER, 1);
  expect((await rollback()).stderr).toBe(
    "The deployments of petstore-staging show no earlier version to go back to.\n",
  );
  expect(lastLine(await rollback(["--to", "v1"]))).toBe(
    "Option '--to <version id>' argument 'v1' is invalid. A version id looks like 00000000-0000-0000-0000-000000000000.",
  );
});

const UNKNOWN = "00000000-0000-0000-0000-000000000000";

test.each([
  [["--to", UNKNOWN], `petstore-staging has no version ${UNKNOWN}.`],
  // The list of deployments ends before the last good one.
  [[], "The deployments of petstore-staging show no earlier version to go back to. Choose one with --to."],
])("a rollback without a version, %j, names the ten latest that can be chosen", async (args, refusal) => {
  const { versions } = addReleases(cloudflare.api, WORKER, 12, "0123456789abcdef");
  cloudflare.api.workers.bounds.deployments = 1;
  const choices = versions.slice(1, -1).toReversed();
  expect(await rollback(args)).toEqual({
    code: 1,
    stdout: "",
    stderr: [
      "The latest versions to choose from:",
      ...choices.map(({ id, createdOn }, index) => `  ${id}, v0.${10 - index}.0, 0123456789ab, ${createdOn}`),
      `${refusal}\n`,
    ].join("\n"),
  });
});

test.each<[deployments: string[], history: History]>([
  [[], { present: undefined, wentBack: false, earlier: [] }],
  [["A"], { present: "A", wentBack: false, earlier: [] }],
  [["A", "B", "C"], { present: "C", wentBack: false, earlier: ["B", "A"] }],
  [["A", "B", "A"], { present: "A", wentBack: true, earlier: [] }],
  [["A", "B", "A", "C"], { present: "C", wentBack: false, earlier: ["A"] }],
  [["A", "B", "A", "B"], { present: "B", wentBack: false, earlier: ["A"] }],
  [["A", "B", "A", "B", "C"], { present: "C", wentBack: false, earlier: ["B", "A"] }],
  [["A", "B", "C", "B", "A"], { present: "A", wentBack: true, earlier: [] }],
  [["A", "B", "C", "A", "D"], { present: "D", wentBack: false, earlier: ["A"] }],
  [["B", "C", "A"], { present: "A", wentBack: true, earlier: [] }],
  [["A", "B C", "C"], { present: "C", wentBack: false, earlier: ["A"] }],
  [["A", "B A"], { present: undefined, wentBack: false, earlier: ["A"] }],
  [["A", "B A", "A"], { present: "A", wentBack: true, earlier: [] }],
  [["A", "B", "A", "B A"], { present: undefined, wentBack: false, earlier: ["A"] }],
  [["A", "B", "C", "B A"], { present: undefined, wentBack: true, earlier: ["B", "A"] }],
  [["A", "B A", "C"], { present: "C", wentBack: false, earlier: ["A"] }],
])("the deployments %j have this history", (names, history) => {
  const deployments = names.map((versions, time) => ({
    id: String(time),
    created_on: String(time),
    versions: versions.split(" ").map((version_id) => ({ version_id, percentage: 50 })) as Deployment["versions"],
  }));
  const numbers = new Map([..."ABCD"].map((id, number) => [id, number]));
  expect(historyOf(deployments.toReversed(), numbers)).toEqual(history);
});

test("a promotion gives a version of the gradual release all requests", async () => {
  const stranger = "00000000-0000-0000-0000-000000000000";
  const refused = `Version ${stranger} has no share of the requests of petstore-staging`;
  expect(lastLine(await promote(stranger))).toBe(
    `${refused}: there is no deployment. To release: npm run release -- --env staging`,
  );
  const [first, second] = makeSecondGradual(addReleases(cloudflare.api, WORKER, 2));
  expect(lastLine(await promote(stranger))).toBe(
    `${refused}: version ${second} has 10 %, version ${first} has 90 %. Promote one of these.`,
  );
  await succeed(promote(second));
  expect(shares()).toEqual(whole(second));
  await succeed(rollback());
  expect(lastLine(await promote(second))).toBe(
    `Version ${second} has no share of the requests of petstore-staging: version ${first} has 100 %. ` +
      "To release: npm run release -- --env staging --gradual 10",
  );
});

test("a promotion waits for a release, and a rollback does not", async () => {
  const { api } = cloudflare;
  const [first, second] = makeSecondGradual(addReleases(api, WORKER, 2));
  api.databases.query(
    WORKER,
    "CREATE TABLE release_lease (id INTEGER PRIMARY KEY, token TEXT, holder TEXT, yields INTEGER, expires_at INTEGER)",
  );
  const hold = "INSERT INTO release_lease VALUES (1, 'other', 'the release of somebody', 1, unixepoch() + 100)";
  api.databases.query(WORKER, hold);
  const [held] = api.databases.query(WORKER, "SELECT expires_at FROM release_lease");
  const query = api.hold("POST", "/query");
  const running = promote(second);
  // Its second look at the lease: until then it was held, and now it is free.
  await query;
  api.repair();
  await vi.waitUntil(() => api.requests.filter((request) => request.endsWith("/query")).length > 1, {
    timeout: 60_000,
  });
  api.databases.query(WORKER, "DELETE FROM release_lease");
  const promoted = await succeed(running);
  expect(promoted.stderr).toContain(
    "This waits for the release of somebody.\nThis goes on by itself when that has ended. " +
      `If it was killed, its lease lasts until ${new Date(Number(held?.["expires_at"]) * 1_000).toISOString()}.\n`,
  );
  expect(promoted.stderr.match(/This waits/g)).toHaveLength(1);

  api.databases.query(WORKER, hold.replace("INSERT", "REPLACE"));
  const back = await succeed(rollback());
  expect(back.stderr).not.toContain("This waits for");
  expect(shares()).toEqual(whole(first));
});

function takeLeaseHere(): Promise<Lease> {
  const terminal = { print: () => {}, say: () => {}, read: async () => "" };
  const holder = { worker: WORKER, command: "the release of v1.0.0", yields: true };
  return takeLease(new Cloudflare(ACCOUNT, "token", terminal), cloudflare.api.databases.find(WORKER), holder, terminal);
}

test("a command that lost its lease names the rollback that took it, the deployed version and the next step", async () => {
  const { api } = cloudflare;
  const [first] = addReleases(api, WORKER, 2).versions;
  const lost = await takeLeaseHere();
  onTestFinished(() => lost.free());
  await lost.confirm();
  await succeed(rollback());
  await expect(lost.confirm()).rejects.toThrow(
    new RegExp(
      `^This stopped before it deployed anything, because of the rollback to ${first?.id} by .+ \\(process ${process.pid}\\), since \\S+Z\\. ` +
        `Deployed now: version ${first?.id} has 100 %\\. If this change is still right, run the command again\\.$`,
    ),
  );
});

test("a lease that was given back stays free, even if its last renewal arrives later", async () => {
  const { api } = cloudflare;
  addReleases(api, WORKER, 1);
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  onTestFinished(() => void vi.useRealTimers());
  const ours = await takeLeaseHere();
  expect(lease()).toHaveLength(1);
  const sent = Promise.withResolvers<void>();
  const freed = Promise.withResolvers<void>();
  const arrived = Promise.withResolvers<void>();
  api.databases.atQuery = async (sql, run) => {
    if (!sql.includes("SET expires_at = unixepoch()")) return run();
    sent.resolve();
    await freed.promise;
    const answer = run();
    arrived.resolve();
    return answer;
  };
  vi.advanceTimersByTime(30_000);
  await sent.promise;
  await ours.free();
  expect(lease()).toEqual([]);
  freed.resolve();
  await arrived.promise;
  expect(lease()).toEqual([]);
});
