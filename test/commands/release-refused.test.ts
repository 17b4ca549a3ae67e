import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { run as runRelease } from "../../ops/release/command-line.ts";
import type { Result } from "./cloudflare/checkout.ts";
import {
  addReleases,
  forgetResources,
  lastLine,
  makeSecondGradual,
  removeClasses,
  runHere,
  useCloudflare,
} from "./cloudflare/fixture.ts";
import { idsOf } from "./cloudflare/ids.ts";
import { Refusal } from "./cloudflare/route.ts";

// Every refusal prints one line and changes nothing.

const cloudflare = useCloudflare("petstore-staging");
const STAGING = ["--env", "staging", "--skip-checks"];
const PRODUCTION = ["--env", "production", "--skip-checks"];

async function expectRefusal(args: readonly string[], message: string | RegExp) {
  const { checkout, api } = cloudflare;
  const result: Result = await checkout.run("ops/run.ts", ["release", ...args]);
  expect(result).toMatchObject({ code: 1, stdout: "" });
  if (typeof message === "string") expect(lastLine(result)).toBe(message);
  else expect(lastLine(result)).toMatch(message);
  expect(api.requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
  return result;
}

test.each([
  [
    ["--env", "local"],
    "Option '--env <environment>' argument 'local' is invalid. Allowed choices are staging, production.",
  ],
  [[], "Required option '--env <environment>' not specified"],
  [
    [...STAGING, "--location", "weur", "--jurisdiction", "eu"],
    "Option '--jurisdiction <jurisdiction>' cannot be used with option '--location <location>'",
  ],
  [[...STAGING, "--location", "paris"], /argument 'paris' is invalid\. Allowed choices are weur, .*, auto\.$/],
  [[...STAGING, "--gradual", "100"], /argument '100' is invalid\. A share is a whole number from 1 to 99\.$/],
  [[...STAGING, "--wait", "1h"], /argument '1h' is invalid\. It takes seconds, from 0 to 600\.$/],
  [
    [...STAGING, "--url", "http://example.com"],
    /is invalid\. An address starts with https:\/\/, or with http:\/\/ on this machine\.$/,
  ],
  [[...STAGING, "--commit", "main"], /argument 'main' is invalid\. A commit has 7 to 40 hexadecimal digits\.$/],
  [
    [...STAGING, "--promote", "00000000-0000-0000-0000-000000000000"],
    "Option '--promote <version id>' cannot be used with option '--skip-checks'",
  ],
])("%j", async (args, message) => {
  const result = await runHere(runRelease, args);
  expect(result).toEqual({ code: 1, stdout: "", stderr: expect.stringMatching(/^[^\n]+\n$/) });
  if (typeof message === "string") expect(lastLine(result)).toBe(message);
  else expect(lastLine(result)).toMatch(message);
  expect(cloudflare.api.requests).toEqual([]);
});

test.each([
  [[...STAGING, "--commit", "0000000"], /^Commit [0-9a-f]{40} is checked out, not 0000000\.$/],
  [
    PRODUCTION,
    `Production gets tagged commits, and this one has no tag v${packageJson.version}. Tag it, or say --untagged.`,
  ],
])("%j", async (args, message) => {
  await expectRefusal(args, message);
});

const UNCONFIRMED = "Production needs a confirmation. Say --yes.";

test("a release to production without a confirmation", async () => {
  const { stderr } = await expectRefusal([...PRODUCTION, "--untagged"], UNCONFIRMED);
  const head = cloudflare.checkout.git("rev-parse", "HEAD").slice(0, 12);
  expect(stderr).toBe(`This releases v${packageJson.version} (${head}) to production.\n${UNCONFIRMED}\n`);
});

test("a release to production that brings a class of Durable Objects, without a confirmation", async () => {
  removeClasses(addReleases(cloudflare.api, "petstore-production", 1));
  const { stderr } = await expectRefusal([...PRODUCTION, "--untagged", "--force"], UNCONFIRMED);
  expect(stderr).toContain("\nIt brings the migration v1 of Durable Objects, ");
});

test("a promotion in production without a confirmation", async () => {
  const [, version] = makeSecondGradual(addReleases(cloudflare.api, "petstore-production", 2));
  const edge = ["--wait", "0", "--url", cloudflare.edge.url];
  const { stderr } = await expectRefusal(["--env", "production", "--promote", version, ...edge], UNCONFIRMED);
  expect(stderr).toBe(`This gives version ${version} all requests of production.\n${UNCONFIRMED}\n`);
});

test("files that are not committed", async () => {
  const { checkout } = cloudflare;
  writeFileSync(join(checkout.folder, "new.txt"), "new");
  try {
    await expectRefusal(STAGING, "There are files that are not committed (git status). Only a commit can be released.");
  } finally {
    checkout.git("clean", "--quiet", "--force");
  }
});

test("checks that fail, even for a tagged commit in production", async () => {
  const { checkout } = cloudflare;
  addReleases(cloudflare.api, "petstore-production", 1, checkout.git("rev-parse", "HEAD"));
  const manifest = { version: packageJson.version, type: "module", scripts: { check: "exit 1" } };
  writeFileSync(join(checkout.folder, "package.json"), JSON.stringify(manifest));
  checkout.commit("Checks that fail");
  checkout.git("tag", `v${packageJson.version}`);
  try {
    await expectRefusal(["--env", "production", "--yes"], "npm run check fails, so nothing was released.");
  } finally {
    checkout.git("reset", "--quiet", "--hard", "HEAD~1");
    checkout.git("tag", "--delete", `v${packageJson.version}`);
  }
});

test.each([
  ["d1_databases", "database"],
  ["kv_namespaces", "KV namespace"],
])("an environment without %s, although the top level has some", async (setting, name) => {
  const { api, checkout } = cloudflare;
  addReleases(api, "petstore-staging", 1);
  const settings = join(checkout.folder, "wrangler.toml");
  const table = new RegExp(`^\\[\\[env\\.staging\\.${setting}\\]\\]\\n(?:.+\\n)+`, "m");
  const whole = readFileSync(settings, "utf8");
  expect(whole).toMatch(table);
  writeFileSync(settings, whole.replace(table, ""));
  checkout.commit("An environment that is incomplete");
  try {
    const edge = ["--wait", "0", "--url", cloudflare.edge.url];
    await expectRefusal([...STAGING, ...edge, "--location", "weur"], `wrangler.toml names no ${name} in env.staging.`);
  } finally {
    checkout.git("reset", "--quiet", "--hard", "HEAD~1");
  }
});

test("a commit that does not descend from the deployed one, unless somebody insists", async () => {
  const { api, checkout } = cloudflare;
  const older = checkout.git("rev-parse", "HEAD");
  checkout.commit("Something newer");
  const newer = checkout.git("rev-parse", "HEAD");
  checkout.git("reset", "--quiet", "--hard", older);
  addReleases(api, "petstore-staging", 1, newer);
  await expectRefusal(
    STAGING,
    `Commit ${newer.slice(0, 12)} is deployed, and ${older.slice(0, 12)} does not descend from it. To release all the same, say --force.`,
  );
  // It gets as far as its first change.
  api.break("POST", "/query", new Refusal(403, 10_000, "Authentication error"));
  const forced = await checkout.run("ops/run.ts", ["release", ...STAGING, "--force"]);
  expect(lastLine(forced)).toContain("/query: Authentication error");
});

test.each([
  ["does not tell its commit", undefined, /^Version \S+ is deployed, and does not tell its commit\. To release all/],
  [
    "comes from a commit of somebody else",
    "0123456789abcdef",
    "Commit 0123456789ab is deployed, and this clone does not have it. Fetch it first. To release all the same, say --force.",
  ],
])("a release over a version that %s", async (_, commit, message) => {
  addReleases(cloudflare.api, "petstore-staging", 1, commit);
  await expectRefusal(STAGING, message);
});

test.each([
  ["WEBHOOK_DENIED_HOSTS", '"*.evil.com"'],
  ["LOG_SUCCESS_SHARE", '"10%"'],
  ["READ_MAX_AGE", '"5s"'],
  ["READS", '"Primary"'],
  ["EVENT_DAYS", '"-1"'],
  ["EVENT_DAYS", "7"],
  ["ENVIRONMENT", '"production"'],
  ["READMAXAGE", '"5"'],
  ["READS", undefined],
])("a setting that the service does not understand: %s = %s", async (name, value) => {
  const { checkout } = cloudflare;
  const file = join(checkout.folder, "wrangler.toml");
  const section = /(?<=^\[env\.staging\.vars\]\n)(?:.+\n)+/m;
  const line = value === undefined ? "" : `${name} = ${value}\n`;
  const change = (lines: string) => lines.replace(new RegExp(`^${name} = .*\n`, "m"), "") + line;
  writeFileSync(file, readFileSync(file, "utf8").replace(section, change));
  checkout.commit("A mistake");
  onTestFinished(() => void checkout.git("reset", "--quiet", "--hard", "HEAD~1"));
  const problem = value === undefined ? "is missing" : `is ${value}, which the service does not understand`;
  await expectRefusal(STAGING, `${name} ${problem}: [env.staging.vars] in wrangler.toml, docs/operations.md.`);
});

test("a gradual release that brings a class of Durable Objects", async () => {
  const { api, checkout } = cloudflare;
  removeClasses(addReleases(api, "petstore-staging", 1, checkout.git("rev-parse", "HEAD")));
  await expectRefusal(
    [...STAGING, "--gradual", "10"],
    "This release brings the migration v1 of Durable Objects, which Cloudflare applies for all requests at once: leave out --gradual. " +
      "docs/releases.md explains the two releases that a new class takes.",
  );
});

test("a commit that does not know the classes of the Worker, although somebody insists", async () => {
  addReleases(cloudflare.api, "petstore-staging", 1).migrationTag = "v2";
  await expectRefusal(
    [...STAGING, "--force"],
    "petstore-staging has the migration v2 of Durable Objects, and wrangler.toml does not. Release a commit that has it.",
  );
});

test.each(["database", "namespace"] as const)(
  "a Worker that uses another %s than wrangler.toml names",
  async (resource) => {
    const { api, checkout } = cloudflare;
    const { versions } = addReleases(api, "petstore-staging", 1, checkout.git("rev-parse", "HEAD"));
    const type = resource === "database" ? "d1" : "kv_namespace";
    for (const { bindings } of versions)
      for (const binding of bindings)
        if (binding.type === type) Object.assign(binding, { id: "other", namespace_id: "other" });
    await expectRefusal(
      STAGING,
      `petstore-staging uses the ${resource === "database" ? "database" : "KV namespace"} other, and wrangler.toml names ` +
        `${idsOf("staging")[resource]}. docs/runbook/deleted.md has the choice. To release with that one, say --new-${resource}.`,
    );
  },
);

test("a database that wrangler.toml gives another name", async () => {
  const { api, checkout } = cloudflare;
  addReleases(api, "petstore-staging", 1, checkout.git("rev-parse", "HEAD"));
  api.databases.find("petstore-staging").name = "petstore-production";
  await expectRefusal(
    STAGING,
    `wrangler.toml calls the database ${idsOf("staging").database} of staging petstore-staging, and its name is petstore-production.`,
  );
});

describe("without ids in wrangler.toml", () => {
  test("a deployed Worker, whose ids are shown", async () => {
    const { api, checkout } = cloudflare;
    forgetResources(checkout);
    addReleases(api, "petstore-staging", 1, checkout.git("rev-parse", "HEAD"));
    const { stderr } = await expectRefusal(
      STAGING,
      "petstore-staging is deployed with these resources, and wrangler.toml does not name them. " +
        "Add their ids there as above, commit them, and start again.",
    );
    const { database, namespace } = idsOf("staging");
    expect(stderr).toContain(
      `[[env.staging.d1_databases]]\nbinding = "DB"\ndatabase_id = "${database}"\n` +
        `[[env.staging.kv_namespaces]]\nbinding = "API_KEYS"\nid = "${namespace}"\n`,
    );
  });

  test("a first release without a place, in a pipeline, and the commands that need an id", async () => {
    forgetResources(cloudflare.checkout);
    await expectRefusal(
      STAGING,
      "There is no database yet, and its place cannot be changed later. " +
        "Say --location (weur, eeur, apac, oc, wnam, enam, auto) or --jurisdiction (eu, fedramp, us).",
    );
    const inPipeline = await cloudflare.checkout.run("ops/run.ts", ["release", ...STAGING, "--location=weur"], {
      env: { CI: "true" },
    });
    expect(lastLine(inPipeline)).toBe(
      "wrangler.toml does not name the resources of staging. Its first release creates them, and a person runs it: docs/releases.md.",
    );
    for (const args of [
      ["keys", "list"],
      ["backup", "--to", "backups/none"],
    ]) {
      const result = await cloudflare.checkout.run("ops/run.ts", [...args, "--env", "staging"]);
      expect(result).toMatchObject({ code: 1, stdout: "" });
      expect(result.stderr).toMatch(/^wrangler\.toml has no (?:database_)?id in \[\[env\.staging\.\w+\]\]\. /m);
    }
  });
});
