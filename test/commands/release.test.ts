import { existsSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { needsDatabase } from "../../ops/release/optional-database.ts";
import { databaseId } from "./cloudflare/ids.ts";
import { Refusal } from "./cloudflare/route.ts";
import { type Checkout, type Result, STAND_IN } from "./cloudflare/checkout.ts";
import type { Binding, Version } from "./cloudflare/workers.ts";
import {
  addReleases,
  commandsOf,
  commitUntilEnd,
  endLeases,
  failureOf,
  forgetResources,
  lastLine,
  removeClasses,
  succeed,
  useCloudflare,
} from "./cloudflare/fixture.ts";

const MIGRATIONS = readdirSync("drizzle").filter((file) => file.endsWith(".sql")).length;

const WORKER = "petstore-staging";
const cloudflare = useCloudflare(WORKER);

/** Runs `npm run release` for staging, against the fake. */
function release(args: readonly string[] = [], options?: Parameters<Checkout["run"]>[2]): Promise<Result> {
  const { checkout, edge } = cloudflare;
  const all = ["--env", "staging", "--skip-checks", "--wait", "0", "--url", edge.url, ...args];
  return checkout.run("ops/run.ts", ["release", ...all], options);
}

/** Runs a release until a request of it waits. */
async function holdAt(method: string, path: string, args: readonly string[] = []) {
  const ending = new AbortController();
  const arrived = cloudflare.api.hold(method, path);
  const result = { code: 0, stdout: "", stderr: "" };
  const running = release(args, { signal: ending.signal, result });
  const arrival = await Promise.race([arrived, running]);
  if (!("ended" in arrival)) throw new Error(arrival.stderr);
  return { running, ending, arrival, result };
}

const versions = () => cloudflare.api.workers.all.get(WORKER)?.versions ?? [];
const shares = () => cloudflare.api.workers.all.get(WORKER)?.deployments.at(-1)?.versions;
const migrations = () => cloudflare.api.databases.query(WORKER, "SELECT name FROM d1_migrations").length;
const changes = () => cloudflare.api.requests.filter((request) => !request.startsWith("GET "));
const head = () => cloudflare.checkout.git("rev-parse", "HEAD");
const addOne = () => addReleases(cloudflare.api, WORKER, 1, head());
const addTwo = () => addReleases(cloudflare.api, WORKER, 2, head());

const secretOf = (version: Version | undefined) =>
  String(version?.bindings.find(({ name, type }) => name === "TOKEN_SECRET" && type === "secret_text")?.["text"]);

function addMigration(sql = "CREATE TABLE later (id INTEGER);", file = "9000_new.sql"): void {
  writeFileSync(join(cloudflare.checkout.folder, "drizzle", file), sql);
  commitUntilEnd(cloudflare.checkout, "A migration");
}

/** What wrangler sent in each test. */
const requests: { [test: string]: unknown } = {};
const ID = /[0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12}/g;

/** A request with its body, without what differs from run to run. */
async function described(request: string, body: Response): Promise<unknown> {
  const isForm = body.headers.get("Content-Type")?.startsWith("multipart/") === true;
  const text = isForm ? ((await body.formData()).get("metadata") as string) : await body.text();
  const whole = JSON.parse(text.replaceAll(ID, "id").replaceAll(/(?:\\[nt]|\s)+/g, " ") || "{}");
  const { annotations, assets, migrations, keep_bindings } = whole;
  // Each run has another secret.
  const bindings = whole.bindings?.map((binding: Binding) =>
    binding.type === "secret_text" ? { ...binding, text: /^\w{43}$/.test(String(binding["text"])) } : binding,
  );
  const form = { bindings, keep_bindings, annotations, assets, migrations };
  return [request.replaceAll(ID, "id"), isForm ? form : whole];
}

describe.each([
  { program: "wrangler", standIn: undefined },
  { program: "its stand-in, which sends the same,", standIn: STAND_IN },
])("with $program", ({ standIn }) => {
  beforeEach(({ task: { name } }) => {
    const { api, checkout } = cloudflare;
    const sent: Promise<unknown>[] = [];
    api.watch = (request, body) => {
      if (body.headers.get("User-Agent")?.startsWith("wrangler/")) sent.push(described(request, body.clone()));
    };
    checkout.useWrangler(standIn);
    return async () => {
      checkout.useWrangler(STAND_IN);
      if (standIn === undefined) requests[name] = await Promise.all(sent);
      else expect(await Promise.all(sent)).toEqual(requests[name]);
    };
  });

  test("the first release creates everything that is missing", async () => {
    const { api, checkout, edge } = cloudflare;
    forgetResources(checkout);
    const result = await succeed(release(["--location", "weur"]));
    expect(api.databases.named(WORKER)).toMatchObject({
      primary_location_hint: "weur",
      read_replication: { mode: "auto" },
    });
    expect(migrations()).toBe(MIGRATIONS);
    const namespace = api.namespaces.titled("petstore-staging-api-keys");
    const [version] = versions();
    expect(shares()).toEqual([{ version_id: version?.id, percentage: 100 }]);
    expect(version?.annotations).toEqual({
      "workers/tag": `v${packageJson.version}`,
      "workers/message": checkout.git("rev-parse", "HEAD").slice(0, 12),
    });
    const bookmark = /Bookmark before the migrations: (\S+)/.exec(result.stderr)?.[1];
    expect(result.stdout).toBe(`
Released to staging
  Version         ${version?.id}
  Address         ${edge.url}
  Bookmark        ${bookmark}
  Roll back code  none: this is the first version
  Restore data    Read docs/releases.md first: a restore loses everything that was written since.
                  Without a terminal, this command does not ask:
                  npx wrangler d1 time-travel restore petstore-staging --env staging --bookmark ${bookmark}
`);
    const config = "--config=.wrangler/configurations/petstore-staging.json --env=";
    expect(commandsOf(result)).toEqual([
      expect.stringMatching(/^deploy --dry-run "?--outdir=\S+ --config/),
      `d1 migrations apply DB ${config} --remote`,
      expect.stringMatching(
        new RegExp(
          `^deploy "?\\S+/bundle/index.js"? --no-bundle ${config} --tag=v${packageJson.version} --message=[0-9a-f]{12} "?--secrets-file=\\S+"?$`,
        ),
      ),
    ]);
    expect(secretOf(version)).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(result.stdout + result.stderr).not.toContain(secretOf(version));
    expect(result.stderr).toContain("The new version gets a new secret for customer tokens.");
    expect(existsSync(/--secrets-file=([^"\s]+)/.exec(result.stderr)?.[1] ?? "")).toBe(false);
    expect(result.stderr.indexOf("Bookmark")).toBeLessThan(result.stderr.indexOf("migrations apply"));
    expect(api.workers.all.get(WORKER)).toMatchObject({ crons: ["17 * * * *"], subdomain: { enabled: true } });

    // It wrote the ids, and nothing else. Until they are committed, a release goes on with them.
    const diff = checkout.git("diff", "--unified=0").split("\n");
    expect(diff.filter((line) => /^[+-](?![+-])/.test(line))).toEqual([
      `+database_id = "${api.databases.named(WORKER)?.uuid}"`,
      `+id = "${namespace?.id}"`,
    ]);
    expect(checkout.git("status", "--porcelain")).toBe("M wrangler.toml");
    expect(lastLine(result)).toMatch(/^Commit wrangler\.toml: /);
    await succeed(release());
    expect([api.databases.all.size, api.namespaces.all.size]).toEqual([1, 1]);
  });

  test("a later release changes only the code, and shows no secret", async () => {
    const { api, checkout } = cloudflare;
    addOne();
    const [before] = versions();

    // None of these leads it to another Worker, account or file.
    const astray = {
      CLOUDFLARE_ENV: "production",
      WRANGLER_CI_OVERRIDE_NAME: "petstore-production",
      CF_ACCOUNT_ID: "other",
    };
    writeFileSync(
      join(checkout.folder, ".env"),
      "CLOUDFLARE_ENV=production\nWRANGLER_CI_OVERRIDE_NAME=petstore-production\n",
    );
    onTestFinished(() => rmSync(join(checkout.folder, ".env")));
    const result = await succeed(release(["--location", "enam"], { env: astray }));
    expect([...api.workers.all.keys()]).toEqual([WORKER]);
    // A list that is empty for a moment does no harm.
    expect(api.requests.filter((request) => /namespaces$|database$|scripts$/.test(request))).toEqual([]);
    expect(result.stderr).toContain("GET /v1/pets is 200 with a key.");
    expect(result.stdout).toContain(`Roll back code  npm run rollback -- --env staging --to ${before?.id}\n`);
    expect(changes().filter((request) => /^POST \/d1\/database$|^PUT \/d1|POST .*namespaces/.test(request))).toEqual(
      [],
    );
    expect(migrations()).toBe(MIGRATIONS);
    expect(versions()).toHaveLength(2);
    expect(result.stderr + result.stdout).not.toContain(api.environment()["CLOUDFLARE_API_TOKEN"]);
  });

  test("a release that brings a class of Durable Objects deploys it at once", async () => {
    const worker = addOne();
    removeClasses(worker);
    const result = await succeed(release());
    expect(worker.migrationTag).toBe("v1");
    expect(shares()).toEqual([{ version_id: versions()[1]?.id, percentage: 100 }]);
    expect(result.stderr).toContain(
      "It brings the migration v1 of Durable Objects, so it gives the new version all requests at once. " +
        "Afterwards, Cloudflare refuses to roll back to a version from before.\n",
    );
    expect(result.stdout).toContain("Roll back code  none: Cloudflare refuses a version without the migration v1\n");
    expect(commandsOf(result).map((command) => command?.split(" ").slice(0, 3))).toEqual([
      ["deploy", "--dry-run", expect.any(String)],
      ["deploy", expect.any(String), "--no-bundle"],
    ]);
    expect(worker.crons).toEqual(["17 * * * *"]);

    // The next one brings none: it uploads, and can be taken back.
    const next = await succeed(release());
    expect(next.stdout).toContain(`Roll back code  npm run rollback -- --env staging --to ${versions()[1]?.id}\n`);
    expect(commandsOf(next).map((command) => command?.split(" ")[0])).toEqual(["versions", "triggers"]);
  });

  test("a first release whose cron trigger may be missing deploys again", async () => {
    const { api } = cloudflare;
    addReleases(api, WORKER, 1);
    api.workers.all.clear();
    api.break("PUT", "/schedules", "lost", { times: 1 });
    await succeed(release());
    expect(shares()).toEqual([{ version_id: versions()[1]?.id, percentage: 100 }]);
  });
});

test("a repeated release continues after an interruption", async () => {
  const { api, checkout } = cloudflare;
  forgetResources(checkout);
  const place = ["--jurisdiction", "eu"];
  const { running, ending, arrival } = await holdAt("PUT", "/workers/scripts/petstore-staging", place);
  // The API answers only when the release is gone.
  ending.abort(["SIGINT", "SIGTERM"]);
  const ended = await running;
  await arrival.ended;
  api.repair();
  expect([ended.code, lastLine(ended)]).toEqual([
    1,
    "A new version may be deployed: npx wrangler deployments status --env staging shows it. To roll back: none: this is the first version",
  ]);
  const [, secrets = ""] = /--secrets-file=(\S+)\/secrets\.json/.exec(ended.stderr) ?? [];
  expect([secrets, existsSync(secrets)]).toEqual([expect.stringContaining("petstore-secret-"), false]);
  // The second signal left no time to give the lease back.
  endLeases(api);
  await succeed(release(place));
  expect(api.databases.named(WORKER)).toMatchObject({ jurisdiction: "eu", read_replication: { mode: "auto" } });
  expect(api.namespaces.titled(`${WORKER}-api-keys`)).toMatchObject({ jurisdiction: "eu" });
  expect([versions().length, api.databases.all.size, api.namespaces.all.size]).toEqual([1, 1, 1]);
  expect(migrations()).toBe(MIGRATIONS);
});

test.each([
  ["POST", "/query", "All migrations are applied. This release deployed nothing.", 0],
  ["POST", "/deployments", "Version <new> is deployed. To roll back: npm run rollback -- --env staging --to <old>", 2],
])("a release that somebody ends at %s %s tells what it did", async (method, path, state, deployed) => {
  const { api } = cloudflare;
  const worker = addOne();
  addMigration();
  let ended: Result;
  if (path === "/query") {
    const ending = new AbortController();
    api.databases.atQuery = (sql, run) => {
      if (sql.includes("CREATE TABLE later")) ending.abort(["SIGTERM"]);
      return run();
    };
    ended = await release([], { signal: ending.signal });
  } else {
    const { running, ending, result } = await holdAt(method, path);
    ending.abort(["SIGTERM"]);
    // It has got the signal when it says so, and waits for the response all the same.
    await vi.waitUntil(() => result.stderr.includes("This ends after the present step."), { timeout: 60_000 });
    api.repair();
    ended = await running;
  }
  const [old, new_] = worker.versions;
  expect(ended, ended.stderr).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(ended)).toBe(state.replace("<new>", new_?.id ?? "").replace("<old>", old?.id ?? ""));
  expect(worker.deployments).toHaveLength(deployed || 1);
  expect(migrations()).toBe(MIGRATIONS + 1);
  // Its lease is free.
  await succeed(release());
});

/** Something of every process, as far as other users of the machine see it. */
const ofProcesses = (read: (folder: string) => string) =>
  readdirSync("/proc").map((name) => {
    try {
      return /^\d+$/.test(name) ? read(`/proc/${name}`) : "";
    } catch {
      // It has ended meanwhile, or belongs to somebody else.
      return "";
    }
  });

/** Requests that a release sends. */
const REQUESTS = 28;
/** How many releases are killed, each at a moment of its own. */
const KILLS = Number(process.env["KILLS"] ?? 1);

test.runIf(process.platform === "linux").each(Array.from({ length: KILLS }, (_, kill) => kill))(
  "kill %i: after a release that was killed, nothing of it undoes a newer one",
  async () => {
    const { api, checkout } = cloudflare;
    addOne();
    const moment = Math.floor(Math.random() * REQUESTS);
    const killing = new AbortController();
    const killed = release([], { signal: killing.signal });
    await Promise.race([killed, vi.waitUntil(() => api.requests.length >= moment, { timeout: 600_000, interval: 5 })]);
    const shown = ofProcesses((folder) => readFileSync(`${folder}/cmdline`, "utf8"));
    expect(shown.join("\n")).not.toMatch(/token-of-the-tests|petstore_staging_/);
    killing.abort("SIGKILL");
    await killed;
    const what = `killed at request ${api.requests.length}`;
    endLeases(api);
    commitUntilEnd(checkout, "Newer");
    const result = await release();
    expect(result.code, `${what}\n${result.stderr}`).toBe(0);
    const isInUse = () => ofProcesses((folder) => readlinkSync(`${folder}/cwd`)).some((cwd) => cwd === checkout.folder);
    await vi.waitUntil(() => !isInUse(), { timeout: 60_000 });
    const [share, ...others] = shares() ?? [];
    const deployed = versions().find(({ id }) => id === share?.version_id);
    expect([deployed?.annotations["workers/message"], others], what).toEqual([head().slice(0, 12), []]);
  },
);

test("a release that waited for that of a newer commit is refused", async () => {
  const { api, checkout } = cloudflare;
  const worker = addOne();
  const older = head();
  checkout.commit("Newer");
  const newer = head();
  checkout.git("reset", "--quiet", "--hard", older);
  const { running } = await holdAt("POST", "/query");
  const { id } = api.workers.release(worker, worker.versions[0]?.bindings ?? [], newer);
  api.repair();
  expect(await failureOf(running)).toMatch(
    /^Commit [0-9a-f]{12} is deployed, and [0-9a-f]{12} does not descend from it\./,
  );
  expect(shares()).toEqual([{ version_id: id, percentage: 100 }]);
});

test.each([
  {
    store: "databases",
    name: "database",
    key: "id",
    wayBack: "none: earlier versions use another database, which is gone",
  },
  { store: "namespaces", name: "KV namespace", key: "namespace_id", wayBack: "npm run rollback -- --env staging --to" },
] as const)("a $name that is gone is replaced only when somebody says so", async ({ store, name, key, wayBack }) => {
  const { api, checkout } = cloudflare;
  addOne();
  const { all } = api[store];
  const [lost] = all.keys();
  all.clear();
  onTestFinished(() => void checkout.git("checkout", "wrangler.toml"));
  const option = `--new-${store.slice(0, -1)}`;
  expect(await failureOf(release(["--location", "weur"]))).toBe(
    `The ${name} ${lost}, which wrangler.toml names, does not exist. docs/runbook/deleted.md has the choice. ` +
      `To release with a new, empty one, say ${option}.`,
  );
  expect(changes()).toEqual([]);
  const result = await succeed(release(["--location", "weur", option]));
  const [made] = all.keys();
  expect(result.stdout).toContain(`Roll back code  ${wayBack}`);
  expect(versions().at(-1)?.bindings).toContainEqual(expect.objectContaining({ [key]: made }));
  const diff = checkout.git("diff");
  for (const line of [`-\\w+ = "${lost}"`, `\\+\\w+ = "${made}"`]) expect(diff).toMatch(new RegExp(`^${line}$`, "m"));
  expect(migrations()).toBe(MIGRATIONS);
});

test("a migration that fails leaves those before it, and the old code", async () => {
  const { api, checkout } = cloudflare;
  forgetResources(checkout);
  addMigration("CREATE TABLE half (id INTEGER);\nINSERT INTO nowhere VALUES (1);");
  const failed = await release(["--location", "auto"]);
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("9000_new.sql");
  expect(failed.stderr).not.toContain("it is tried again");
  expect(lastLine(failed)).toMatch(
    /no such table: nowhere .+\. Migrations that are not applied: 1\. This release deployed nothing\.$/,
  );
  expect(migrations()).toBe(MIGRATIONS);
  expect(api.databases.query(WORKER, "SELECT * FROM sqlite_schema WHERE name = 'half'")).toEqual([]);
  expect(api.databases.named(WORKER)).not.toHaveProperty("primary_location_hint");
  expect(api.workers.all.size).toBe(0);
});

test("a wrangler that ends well and says nothing is told in a sentence", async () => {
  const { checkout } = cloudflare;
  addOne();
  const silent = join(checkout.folder, ".wrangler/silent.mjs");
  writeFileSync(silent, "");
  checkout.useWrangler(silent);
  onTestFinished(() => checkout.useWrangler(STAND_IN));
  expect(await failureOf(release())).toMatch(
    /^wrangler versions ended well, and told of no version that it uploaded\. /,
  );
  expect(versions()).toHaveLength(1);
});

test("a release that brings a class knows what happened when the response is lost", async () => {
  const { api } = cloudflare;
  const worker = addOne();
  removeClasses(worker);
  api.break("PUT", `/workers/scripts/${WORKER}`, "lost", { times: 1 });
  // The command asks twice, and wrangler twice before its first upload. So the repetition of wrangler fails as well.
  api.break("GET", `/workers/services/${WORKER}`, undefined, { after: 4 });
  await succeed(release());
  expect([worker.migrationTag, worker.crons]).toEqual(["v1", ["17 * * * *"]]);
  expect(shares()).toEqual([{ version_id: versions()[1]?.id, percentage: 100 }]);
});

test("a release that brings a class makes a rollback wait, which then tells what came", async () => {
  const { api, checkout, edge } = cloudflare;
  const worker = addTwo();
  removeClasses(worker);
  const { running } = await holdAt("PUT", `/workers/scripts/${WORKER}`);
  const live = { code: 0, stdout: "", stderr: "" };
  const args = ["rollback", "--env=staging", "--wait=0", "--url", edge.url];
  const rollback = checkout.run("ops/run.ts", args, { result: live });
  const holder = /This waits for the release of v[\d.]+ \([0-9a-f]{12}\) by .+ \(process \d+\), since .+\.\n/;
  await vi.waitUntil(() => holder.test(live.stderr), { timeout: 60_000 });
  api.repair();
  const [released, back] = await Promise.all([running, rollback]);
  expect(released, released.stderr).toMatchObject({ code: 0 });
  expect(back).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(back)).toBe(
    `Somebody changed the deployment of ${WORKER} meanwhile: version ${versions()[2]?.id} has 100 %. Look at it, and start again.`,
  );
});

test.each([
  ["a class", "PUT", "none: Cloudflare refuses a version without the migration v1"],
  ["no class", "POST", "npm run rollback -- --env staging --to <old>"],
])("a release that brings %s tells of a deployment that it undid", async (_, method, wayBack) => {
  const { api, checkout } = cloudflare;
  const worker = addTwo();
  commitUntilEnd(checkout, "Newer");
  if (method === "PUT") removeClasses(worker);
  const [first, second] = worker.versions;
  // By the dashboard, which knows of no lease.
  const { running } = await holdAt(method, method === "PUT" ? `/workers/scripts/${WORKER}` : "/deployments");
  api.workers.share(worker, [{ version_id: first?.id ?? "", percentage: 100 }]);
  api.repair();
  expect(await failureOf(running)).toBe(
    `Somebody changed the deployment of ${WORKER} right before: version ${first?.id} has 100 %. This command has deployed over it. ` +
      `Version ${versions()[2]?.id} is deployed. To roll back: ${wayBack.replace("<old>", second?.id ?? "")}`,
  );
});

const SICK = new Refusal(503, 7_500, "D1 is sick", { "Retry-After": "0" });

test.each<[moment: string, method: string, path: string, args: string[], failure?: Refusal]>([
  ["before it has the lease", "POST", "/query", []],
  ["before it has the lease for a gradual release", "POST", "/query", ["--gradual", "10"]],
  ["during a gradual upload", "POST", "/versions", ["--gradual", "10"]],
  ["before its first look at D1, which fails", "GET", "/d1/database", [], SICK],
  ["during its upload while D1 fails", "POST", "/versions", [], SICK],
  ["right before it deploys a class", "PUT", "/values/", []],
])("a release undoes no rollback that happens %s", async (_, method, path, args, failure) => {
  const { api } = cloudflare;
  const worker = addTwo();
  const [first] = worker.versions;
  if (method === "PUT") removeClasses(worker);
  api.databases.failure = failure;
  const { running } = await holdAt(method, path, args);
  api.workers.share(worker, [{ version_id: first?.id ?? "", percentage: 100 }]);
  api.repair();
  expect(await failureOf(running)).toMatch(
    new RegExp(
      `^Somebody changed the deployment of ${WORKER} meanwhile: version ${first?.id} has 100 %\\. Look at it, and start again\\.` +
        (path === "/versions" || method === "PUT" ? ".* This release deployed nothing\\.$" : "$"),
    ),
  );
  expect(versions()).toHaveLength(path === "/versions" ? 3 : 2);
  expect(shares()).toEqual([{ version_id: first?.id, percentage: 100 }]);
});

describe("while D1 fails, a release", () => {
  test("without a migration goes on, and keeps the database and the API keys", async () => {
    const { api } = cloudflare;
    addOne();
    api.databases.failure = SICK;
    const result = await succeed(release());
    expect(result.stderr).toContain(
      `\nCloudflare could not answer GET /d1/database/${databaseId(WORKER)}: D1 is sick (code 7500), status 503.\n` +
        "This release brings no migration, so it goes on without D1. It has no lease, so another command may come in between. " +
        "It keeps the database and the KV namespace of the deployed version.\n",
    );
    expect(result.stderr).toContain("GET /v1/pets is 503 with a key.");
    expect(result.stdout).toContain("  Bookmark        unknown: D1 did not answer\n");
    const [old, new_] = versions();
    expect(shares()).toEqual([{ version_id: new_?.id, percentage: 100 }]);
    const storage = (version = old) => version?.bindings.filter(({ name }) => name === "DB" || name === "API_KEYS");
    expect(storage(new_)).toEqual([
      expect.objectContaining({ name: "API_KEYS", namespace_id: api.namespaces.titled(`${WORKER}-api-keys`)?.id }),
      expect.objectContaining({ name: "DB", id: api.databases.named(WORKER)?.uuid }),
    ]);
    expect(storage(new_)).toHaveLength(storage(old)?.length ?? 0);
  });

  test.each([
    ["/query", new Refusal(400, 7_500, "Exceeded maximum DB size")],
    ["/time_travel", SICK],
  ])("goes on when only %s fails", async (path, failure) => {
    const { api } = cloudflare;
    addOne();
    addMigration("// None.", "tables.ts");
    api.break("", path, failure);
    const result = await succeed(release());
    expect(result.stderr).toContain("GET /v1/pets is 200 with a key.");
    expect(result.stdout).toContain("  Bookmark        unknown: D1 did not answer\n");
    expect(shares()).toEqual([{ version_id: versions()[1]?.id, percentage: 100 }]);
  });

  test("goes on when D1 fails after the upload", async () => {
    const { api } = cloudflare;
    addOne();
    const upload = api.hold("POST", "/versions");
    const running = release();
    await Promise.race([upload, running]);
    api.databases.failure = SICK;
    api.repair();
    const result = await succeed(running);
    expect(result.stderr).toContain("GET /v1/pets is 503 with a key.");
    expect(result.stdout).toMatch(/^ {2}Bookmark {8}0{7}1-/m);
    expect(shares()).toEqual([{ version_id: versions()[1]?.id, percentage: 100 }]);
  });

  test("with a migration is refused", async () => {
    addOne();
    addMigration();
    cloudflare.api.databases.failure = SICK;
    expect(await failureOf(release())).toBe(
      `Cloudflare could not answer GET /d1/database/${databaseId(WORKER)}: D1 is sick (code 7500), status 503. ` +
        "This release needs D1: it is the first one, it brings a migration or other resources than the deployed ones, or git cannot tell.",
    );
    expect(changes()).toEqual([]);
  });

  /** That of the empty tree, which git knows everywhere. */
  const COMMIT = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
  const of = (commit: string) => [{ id: "1", annotations: { "workers/message": commit } }];
  const usual = {
    deployments: [],
    versions: of(COMMIT),
    bound: { database: "1", namespace: "2" },
    migration: undefined,
  };
  test.each<[differing: object, isNew: boolean, isNeeded: boolean]>([
    [{}, false, false],
    [{}, true, true],
    [{ versions: [] }, false, true],
    [{ versions: [{ id: "1" }] }, false, true],
    [{ versions: of("0123456789ab") }, false, true],
    [{ migration: "v1" }, false, true],
    [{ bound: { ...usual.bound, database: undefined } }, false, true],
    [{ bound: { ...usual.bound, namespace: undefined } }, false, true],
  ])("over %j, with new resources: %j, needs it: %j", (differing, isNew, isNeeded) => {
    expect(needsDatabase({ version: "1.0.0", commit: COMMIT }, { ...usual, ...differing }, isNew)).toBe(isNeeded);
  });

  test("fails in its smoke test when D1 fails for the service alone", async () => {
    const { edge } = cloudflare;
    addOne();
    edge.lacksDatabase = true;
    const ill = await release();
    expect(ill).toMatchObject({ code: 1, stdout: "" });
    const [old, new_] = versions();
    expect(lastLine(ill)).toBe(
      `The smoke test of ${edge.url} failed: GET /v1/pets with the key is 503, not 200. Version ${new_?.id} is deployed. ` +
        `To roll back: npm run rollback -- --env staging --to ${old?.id}`,
    );
  });
});

test("a gradual release tests the new version on its share, and waits to be promoted", async () => {
  const { api } = cloudflare;
  addOne();
  const gradual = await succeed(release(["--gradual", "10"]));
  const [old, new_] = versions();
  expect(shares()).toEqual([
    { version_id: new_?.id, percentage: 10 },
    { version_id: old?.id, percentage: 90 },
  ]);
  // What an object is doing may end.
  expect(api.workers.all.get(WORKER)?.deployments.at(-1)?.code_update_strategy).toEqual({
    mode: "deferred",
    max_delay: 90,
  });
  expect(gradual.stderr).toContain(`GET /health is version ${new_?.id}.`);
  expect(gradual.stdout).toContain(`Go on           npm run release -- --env staging --promote ${new_?.id}\n`);
  expect(gradual.stdout).toContain(`Go back         npm run rollback -- --env staging --to ${old?.id}\n`);

  const again = await release(["--gradual", "20"]);
  expect(lastLine(again)).toBe(
    "A gradual release of petstore-staging is under way. Promote a version or roll back first.",
  );
});

describe("the secret of customer tokens", () => {
  test("stays from release to release, and is replaced on demand, in a version that names its commit", async () => {
    const worker = addTwo();
    const first = secretOf(worker.versions[0]);
    const kept = await succeed(release(["--force"]));
    expect(secretOf(versions().at(-1))).toBe(first);
    expect(kept.stderr).not.toContain("secret");
    const replaced = await succeed(release(["--force", "--new-token-secret"]));
    const second = secretOf(versions().at(-1));
    expect(second).toMatch(/^[0-9A-Za-z]{43}$/);
    expect(replaced.stdout + replaced.stderr).not.toContain(second);
    expect(replaced.stdout).toMatch(/^ {2}Roll back code {2}npm run rollback .* --other-token-secret$/m);
    expect(kept.stdout).not.toContain("--other-token-secret");
    expect(versions().at(-1)?.annotations["workers/message"]).toBe(head().slice(0, 12));
    await succeed(release(["--force"]));
    expect(secretOf(versions().at(-1))).toBe(second);
    // A third one: two releases never share what they made.
    await succeed(release(["--force", "--new-token-secret"]));
    expect(new Set(versions().map(secretOf)).size).toBe(3);
  });

  test("is made by the first release whose Worker has none, a gradual one too, and a failed release keeps it", async () => {
    const worker = addOne();
    for (const version of worker.versions)
      version.bindings = version.bindings.filter(({ name }) => name !== "TOKEN_SECRET");
    cloudflare.api.break("POST", "/deployments");
    const failed = await release(["--gradual", "10"]);
    expect(failed).toMatchObject({ code: 1 });
    expect(lastLine(failed)).toMatch(/ The next release may take its new secret for customer tokens\.$/);
    const made = secretOf(versions().at(-1));
    expect(made).toMatch(/^[0-9A-Za-z]{43}$/);
    cloudflare.api.repair();
    const newest = versions().at(-1)?.id;
    const next = await succeed(release(["--gradual", "10"]));
    expect(secretOf(versions().at(-1))).toBe(made);
    expect(next.stderr).toContain(
      `The new version gets the secret for customer tokens of version ${newest}, which has no requests now. If it is another one, the tokens of now end.`,
    );
  });
});
