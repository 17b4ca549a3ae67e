import { createServer } from "node:http";
import { connect as connectSocket } from "node:net";
import { expect, onTestFinished, test, vi } from "vitest";
import { run } from "../../ops/keys/command-line.ts";
import { Interruption } from "../../ops/interruption.ts";
import { oneLine } from "../../ops/one-line.ts";
import { smokeTest } from "../../ops/release/smoke-test.ts";
import { addressOf } from "../../ops/release/target.ts";
import { endChildren, startChild } from "../../scripts/child.ts";
import { git } from "../../scripts/git.ts";
import { refuseWindows } from "../../scripts/platform.ts";
import { Checkout } from "./cloudflare/checkout.ts";
import { close, listen } from "./cloudflare/loopback.ts";
import { runRollback } from "../../ops/release/command-line.ts";
import { Cloudflare, eventually } from "../../ops/release/cloudflare.ts";
import { passPointOfNoReturn } from "../../ops/release/deployment.ts";
import { Pace, SUSTAINED } from "../../ops/release/pace.ts";
import { ACCOUNT } from "./cloudflare/api.ts";
import { addKey, addReleases, RECORD, runHere, succeed, useAccount } from "./cloudflare/fixture.ts";
import { FastClock, Limit } from "./cloudflare/limit.ts";
import { type Effect, Page, Refusal } from "./cloudflare/route.ts";

const STAGING = "petstore-staging";
const cloudflare = useAccount(STAGING);

const terminal = { print: () => {}, say: () => {}, read: async () => "" };
const connect = () => new Cloudflare(ACCOUNT, "token", terminal);
const find = () => connect().get<{ name: string }>(`/d1/database/${STAGING}`);
const waitUntil = (time: string) => `Cloudflare's API asks for a wait. This goes on by itself at ${time}.`;
const requests = () => cloudflare.api.requests.length;

test("only a 404 in the words of the API means that something does not exist", async () => {
  expect(await find()).toBeUndefined();
  expect(requests()).toBe(1);
});

const NO_ROUTE = "Could not route to /d1/database, perhaps your object identifier is invalid?";

test.each<[effect: Effect, message: string | RegExp, attempts: number]>([
  [
    new Refusal(404, 7003, NO_ROUTE),
    `Cloudflare refused GET /d1/database/petstore-staging: ${NO_ROUTE} (code 7003), status 404.`,
    1,
  ],
  [new Refusal(400, 7400, "Bad request"), /^Cloudflare refused .+: Bad request \(code 7400\), status 400\.$/, 1],
  [new Refusal(403, 10_000, "Authentication error"), "Authentication error (code 10000), status 403", 1],
  // A token that was cut when it was copied.
  [
    new Refusal(400, 6003, "Invalid request headers"),
    /^Cloudflare refused .+: Invalid request headers \(code 6003\), status 400\. The token or login is not valid/,
    1,
  ],
  [
    new Page(404),
    'Cloudflare could not answer GET /d1/database/petstore-staging: Status 404 with the body "<html><body>Bad day</body></html>".',
    4,
  ],
  [new Page(502), 'Status 502 with the body "<html><body>Bad day</body></html>"', 4],
  [
    "cut",
    /^There is no response of Cloudflare to GET \/d1\/database\/petstore-staging: [^.]+\. Check the network, .+ status page\.$/,
    4,
  ],
])(
  "a failure that stays is told with its status and the start of the response: %o",
  async (effect, message, attempts) => {
    cloudflare.api.break("GET", "/d1", effect);
    await expect(find()).rejects.toThrow(message);
    expect(requests()).toBe(attempts);
  },
);

test.each<[name: string, effect: Effect]>([
  ["a 500", new Refusal(500, 10_013, "Unknown error")],
  ["a 429", new Refusal(429, 971, "Please wait", { "Retry-After": "0" })],
  ["an HTML 500", new Page(500)],
  ["an HTML 200", new Page(200)],
  ["a lost connection", "cut"],
])("%s is tried again", async (_, effect) => {
  const { api } = cloudflare;
  api.databases.add(STAGING, "auto");
  api.break("GET", "/d1", effect, { times: 2 });
  expect(await find()).toMatchObject({ name: STAGING });
  expect(requests()).toBe(3);
});

test.each([
  ["POST", "/d1/database/x/query", "D1: Edit"],
  ["GET", "/r2/buckets/x/objects/y", "Workers R2 Storage: Read"],
  ["DELETE", "/storage/kv/namespaces/x", "Workers KV Storage: Edit"],
  ["PATCH", "/workers/scripts/x/script-settings", "Workers Scripts: Edit"],
] as const)(
  "%s %s without the permission says which one, and where a token is made",
  async (method, path, permission) => {
    cloudflare.api.rights = [];
    const status = path.startsWith("/d1") ? 401 : 403;
    await expect(connect().send({ method, path })).rejects.toThrow(
      `Cloudflare refused ${method} ${path}: Authentication error (code 10000), status ${status}. The token or login is not valid for ` +
        `this account, or lacks the permission "${permission}". Tokens are made in the dashboard, under My Profile, API Tokens, or ` +
        "Manage Account, Account API Tokens; a login by npx wrangler login. docs/operations.md has the permissions of each command.",
    );
  },
);

test("a header about a longer window than that of the limit delays a command by one window at most", async () => {
  const clock = new FastClock();
  const begin = clock.now();
  const pace = new Pace(clock, () => {}, SUSTAINED);
  pace.note(new Headers({ Ratelimit: '"day";r=0;t=80000' }));
  await pace.turn();
  expect(clock.now() - begin).toBe(300_000);
});

/** An account whose API takes 1,200 requests in five minutes, by a clock that does not make the test wait. */
function limit(hasHeaders: boolean) {
  const clock = new FastClock();
  const { api } = cloudflare;
  api.databases.add(STAGING, "auto");
  api.limit = new Limit(clock, hasHeaders);
  const said: string[] = [];
  const account = new Cloudflare(
    ACCOUNT,
    "token",
    { ...terminal, say: (text) => void said.push(text) },
    { clock, share: SUSTAINED },
  );
  const begin = clock.now();
  return {
    clock,
    limit: api.limit,
    said,
    account,
    find: () => account.get<{ name: string }>(`/d1/database/${STAGING}`),
    seconds: () => (clock.now() - begin) / 1_000,
  };
}

test("a request waits as long as Retry-After says, and not longer than ten minutes", async () => {
  const { find: look, seconds, said } = limit(false);
  const { api } = cloudflare;
  api.break("GET", "/d1", new Refusal(429, 971, "Please wait", { "Retry-After": "1" }), { times: 1 });
  await look();
  expect([seconds(), said]).toEqual([1, []]);
  api.break("GET", "/d1", new Refusal(503, 7500, "Sick", { "Retry-After": "299" }), { times: 1 });
  await look();
  expect([seconds(), said]).toEqual([300, [waitUntil("2026-01-01T00:05:00Z")]]);
  api.break("GET", "/d1", new Refusal(429, 971, "Please wait", { "Retry-After": "3600" }));
  await expect(look()).rejects.toThrow("Please wait (code 971), status 429");
});

test.each([true, false])("1,600 requests leave room for other commands, with headers: %j", async (hasHeaders) => {
  const { limit: present, find: look, seconds, said } = limit(hasHeaders);
  let least = Infinity;
  for (let request = 0; request < 1_600; request++) {
    expect(await look()).toMatchObject({ name: STAGING });
    least = Math.min(least, present.remaining);
  }
  expect(present.refused).toBe(0);
  expect(least).toBeGreaterThanOrEqual(199);
  // 100 at once, and then 180 a minute.
  expect(seconds()).toBeCloseTo(((1_600 - 100) / 180) * 60, -1);
  expect(said).toEqual([]);
});

test.each([true, false])("a block is waited out without a request, and told, with headers: %j", async (hasHeaders) => {
  const { limit: present, find: look, seconds, said } = limit(hasHeaders);
  present.use(1_200);
  const all = await Promise.all([look(), look()]);
  expect(all).toMatchObject([{ name: STAGING }, { name: STAGING }]);
  // Both may be on their way.
  expect(present.refused).toBeLessThanOrEqual(2);
  expect(seconds()).toBe(300);
  expect(said).toEqual([waitUntil("2026-01-01T00:05:00Z")]);
});

test("a wrangler that hangs is ended", async () => {
  const { api } = cloudflare;
  const arrived = api.hold("GET", "/d1/database");
  const account = new Cloudflare(ACCOUNT, "token", terminal, { patience: 8_000 });
  const hanging = account.wrangler(["d1", "list", "--json"]).catch(String);
  const { ended } = await arrived;
  expect(await hanging).toBe("Error: wrangler d1 list --json was ended after at most 8 seconds.");
  await ended;
});

test("a block that wrangler meets is waited out", async () => {
  const { limit: present, account, seconds, said } = limit(false);
  present.use(1_200);
  expect(await account.wrangler(["d1", "list", "--json"])).toContain(STAGING);
  expect(seconds()).toBe(300);
  expect(said).toContain(waitUntil("2026-01-01T00:05:00Z"));
});

test("wrangler runs three times at most", async () => {
  cloudflare.api.break("GET", "/d1/database", new Refusal(500, 10_001, "Internal error"));
  const { account, said } = limit(false);
  await expect(account.wrangler(["d1", "list", "--json"])).rejects.toThrow("Internal error");
  expect(said.filter((text) => text.includes("it is tried again"))).toHaveLength(2);
});

test("a command that does not show its requests tells of a block", async () => {
  const { api } = cloudflare;
  addReleases(api, STAGING, 1);
  const printed = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => printed.mockRestore());
  api.break("GET", "/keys", new Refusal(429, 971, "Please wait", { "Retry-After": "5" }), { times: 1 });
  const { code, stderr } = await runHere(run, ["list", "--env", "staging"]);
  expect(code, stderr).toBe(0);
  expect([stderr, ...printed.mock.calls.flat()].join("")).toMatch(
    /^Cloudflare's API asks for a wait\. This goes on by itself at /,
  );
});

test("a command that goes on for long waits while others use the limit, and says so, if the API tells how much is left", async () => {
  const { limit: present, find: look, clock, seconds, said } = limit(true);
  present.use(700);
  await clock.sleep(60_000);
  present.use(300);
  await look();
  expect(seconds()).toBe(60);
  await look();
  expect(seconds()).toBe(300);
  expect(said).toHaveLength(1);
  const other = new Cloudflare(ACCOUNT, "token", terminal, { clock });
  present.use(present.remaining - 2);
  await other.get(`/d1/database/${STAGING}`);
  expect(seconds()).toBe(300);
  expect(present.refused).toBe(0);
});

test.each(["cut", "lost", "late"] as const)("a creation happens once when the response is %s", async (effect) => {
  const { api } = cloudflare;
  api.break("POST", "/storage/kv/namespaces", effect, { times: 1 });
  const title = "petstore-once";
  const namespaces = () => connect().list<{ id: string; title: string }>("/storage/kv/namespaces");
  const create = { method: "POST", path: "/storage/kv/namespaces", body: { title } } as const;
  const made = await connect().changeOnce(create, async () => (await namespaces())[0]);
  expect(await namespaces()).toEqual([made]);
});

test("a first deployment that fails may have happened when nobody can look", async () => {
  cloudflare.api.break("GET", "/deployments");
  const interruption = new Interruption();
  const step = { deploy: () => Promise.reject(Error("lost")), before: undefined, during: "Unknown.", after: () => "" };
  await expect(passPointOfNoReturn(connect(), STAGING, step, interruption)).rejects.toThrow("lost");
  expect(interruption.state).toBe("Unknown.");
});

test("a change that the API shows late is found", async () => {
  const shown = Date.now() + 1_500;
  expect(await eventually(async () => (Date.now() < shown ? undefined : "shown"))).toBe("shown");
});

test.each([
  [{ workers_dev: false, routes: [{ pattern: "api.example.com/v1/*" }] }, "https://api.example.com"],
  [{ workers_dev: false, routes: ["*.example.com/*", "example.com/*"] }, "https://example.com"],
  [
    { workers_dev: false, routes: ["example.com/*", { pattern: "shop.example.com", custom_domain: true }] },
    "https://shop.example.com",
  ],
  [{ workers_dev: true, routes: ["example.com/*"] }, "https://pets.somebody.workers.dev"],
  [{}, "https://pets.somebody.workers.dev"],
])("a Worker with %j is tested at %s", async (settings, address) => {
  expect((await addressOf(connect(), { name: "pets", ...settings })).origin).toBe(address);
});

test("a Worker whose routes all have a wildcard has no address", async () => {
  const settings = { name: "pets", workers_dev: false, routes: ["*.example.com/*"] };
  await expect(addressOf(connect(), settings)).rejects.toThrow("No route of pets has a host without *.");
});

test("an error has its cause on one line", async () => {
  const nowhere = await fetch("http://pets.invalid").catch(oneLine);
  expect(nowhere).toMatch(/^getaddrinfo \w+ pets\.invalid$/);
  expect(await fetch("http://localhost:1").catch(oneLine)).toMatch(/ECONNREFUSED|bad port/);
  expect(() => git("rev-parse", "--verify", "nothing")).toThrow(
    /^git rev-parse failed: fatal: Needed a single revision\.$/,
  );
  vi.stubEnv("PATH", "");
  expect(() => git("status")).toThrow("git status failed: git is not installed.");
});

test("the smoke test shows what responds instead of the service", async () => {
  const server = createServer((_, response) => response.end("Unauthorized"));
  const address = new URL(await listen(server));
  onTestFinished(() => close(server));
  await expect(smokeTest({ address, version: "1", wait: 0 }, terminal)).rejects.toThrow(
    'GET /health is not of the service, and begins with "Unauthorized".',
  );
});

test("a token with a line break is refused before it is sent, and not shown", async () => {
  vi.stubEnv("CLOUDFLARE_API_TOKEN", "secret-token\n");
  expect(await runHere(run, ["list", "--env", "staging"])).toEqual({
    code: 1,
    stdout: "",
    stderr: "CLOUDFLARE_API_TOKEN has a character that none has, such as a space or a line break. Set it again.\n",
  });
  expect(requests()).toBe(0);
});

test("a command refuses to run on Windows", () => {
  const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  const said = vi.spyOn(console, "error").mockImplementation(() => {});
  onTestFinished(() => [exit, said].forEach((spy) => spy.mockRestore()));
  refuseWindows("darwin");
  expect(exit).not.toHaveBeenCalled();
  refuseWindows("win32");
  expect([exit.mock.lastCall, said.mock.lastCall]).toEqual([
    [1],
    ["This runs on Linux and macOS. On Windows, use WSL: README.md."],
  ]);
});

test("the same signal from the terminal and from npm is one, and a later one does not wait", async () => {
  const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never);
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void [exit.mockRestore(), vi.useRealTimers()]);
  const interruption = new Interruption();
  const { promise: step, resolve } = Promise.withResolvers<void>();
  const watching = interruption.watch(terminal, () =>
    interruption.pass(
      "",
      () => step,
      async () => true,
    ),
  );
  const pressed = process.listeners("SIGINT").at(-1) ?? expect.unreachable();
  for (let count = 0; count < 2; count++) pressed("SIGINT");
  expect(exit).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1_000);
  pressed("SIGINT");
  expect(exit.mock.calls).toEqual([[1]]);
  resolve();
  await watching;
  await vi.waitUntil(() => exit.mock.calls.length > 1);
});

test("a program that has just ended by itself may be ended", async () => {
  const child = startChild(["--eval", "1"], { stdio: ["ignore", "pipe", "pipe"] });
  const ending = new Promise((resolve) => child.once("exit", () => resolve(Promise.try(endChildren))));
  await expect(ending).resolves.toBeUndefined();
});

test("a command goes through the proxy of the environment", async () => {
  const { api } = cloudflare;
  addReleases(api, STAGING, 1);
  let connections = 0;
  const proxy = createServer().on("connect", (request, socket) => {
    connections++;
    const [host, port] = request.url?.split(":") ?? [];
    const upstream = connectSocket(Number(port), host, () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      upstream.pipe(socket).pipe(upstream);
    });
  });
  const url = await listen(proxy);
  onTestFinished(() => proxy.closeAllConnections());
  const checkout = new Checkout(onTestFinished);
  const env = { ...api.environment(), HTTP_PROXY: url };
  const result = await checkout.run("ops/run.ts", ["keys", "list", "--env", "staging"], { env });
  expect(result).toMatchObject({ code: 0, stdout: "There are no keys.\n" });
  expect(connections).toBeGreaterThan(0);
});

test("a list is read to its end, however few are on a page", async () => {
  const { api } = cloudflare;
  const titles = Array.from({ length: 7 }, (_, index) => `petstore-${index}`);
  for (const title of titles) api.namespaces.add(title);
  api.pageSize = 2;
  const all = await connect().list<{ title: string }>("/storage/kv/namespaces");
  expect(all.map(({ title }) => title)).toEqual(titles);
});

test.each([
  ["has no Date", undefined],
  ["differs by less than a minute", 50_000],
  ["differs by less than a minute", -50_000],
  ["differs by more than a minute", 70_000],
  ["differs by more than a minute", -70_000],
])("a first response that %s gives the time if it differs, and is refused on demand: %o", async (_, clock) => {
  const { api } = cloudflare;
  api.databases.add(STAGING, "auto");
  const account = connect();
  const difference = async () => {
    expect(await account.get(`/d1/database/${STAGING}`)).toMatchObject({ name: STAGING });
    return Math.round((account.now() - Date.now()) / 10_000) * 10_000;
  };
  api.clock = clock;
  const told = Math.abs(clock ?? 0) > 60_000 ? (clock ?? 0) : 0;
  expect(await difference()).toBe(told);
  if (told === 0) account.refuseClock();
  else expect(() => account.refuseClock()).toThrow(/^The clock of this machine says /);
  // Only the first response of the API itself tells the time.
  api.clock = 120_000;
  expect(await difference()).toBe(clock === undefined ? 120_000 : told);
});

test("a key is revoked while the APIs of Workers and D1 fail", async () => {
  const { api } = cloudflare;
  addReleases(api, STAGING, 1);
  const entries = addKey(api, STAGING);
  for (const path of ["/workers", "/d1"]) api.break("", path, new Page(500));
  await succeed(runHere(run, ["revoke", RECORD.id, "--env=staging"]));
  expect(JSON.parse(entries.get("key:0")?.value ?? "{}")).toHaveProperty("revokedAt");
});

test("an operator whose clock is wrong sees by Cloudflare's time which keys work", async () => {
  const { api } = cloudflare;
  addReleases(api, STAGING, 1);
  const expiresAt = new Date(Date.now() + (api.clock = -86_400_000) + 3_600_000).toISOString();
  const record = { ...RECORD, expiresAt };
  addKey(api, STAGING).set("key:0", { value: JSON.stringify(record), metadata: record });
  const shown = { ...record, status: "active" };
  const keys = async (...args: string[]) =>
    JSON.parse((await succeed(runHere(run, [...args, "--env=staging", "--json"]))).stdout);
  expect(await keys("list")).toEqual([shown]);
  expect(await keys("list", "--ending-within=2h")).toEqual([shown]);
  expect(await keys("show", RECORD.id)).toMatchObject(shown);
});

test("an operator whose clock is wrong revokes a key and rolls back by Cloudflare's time", async () => {
  const { api, edge } = cloudflare;
  addReleases(api, STAGING, 2);
  const entries = addKey(api, STAGING);
  const clock = (api.clock = -86_400_000);
  await succeed(runHere(run, ["revoke", RECORD.id, "--env=staging"]));
  const { revokedAt } = JSON.parse(entries.get("key:0")?.value ?? "{}");
  expect(Math.abs(Date.parse(revokedAt) - Date.now() - clock)).toBeLessThan(60_000);
  const sent: Promise<string>[] = [];
  api.watch = (request, body) => void (request.startsWith("PUT /storage/kv") && sent.push(body.clone().text()));
  await succeed(runHere(runRollback, ["--env=staging", "--wait=0", "--url", edge.url]));
  const end = /"expiresAt":"([^"]+)"/.exec((await Promise.all(sent)).join())?.[1] ?? "";
  expect(Date.parse(end) - Date.now() - clock).toBeGreaterThan(800_000);
});
