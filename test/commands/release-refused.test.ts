import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { run as runRelease, runRollback } from "../../ops/release/command-line.ts";
import { refuseSettings } from "../../ops/release/settings.ts";
import { readTarget } from "../../ops/release/target.ts";
import type { Result } from "./cloudflare/checkout.ts";
import {
  addReleases,
  commitUntilEnd,
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
const TAG = `v${packageJson.version}`;
const VERSION = "00000000-0000-0000-0000-000000000000";

const head = () => cloudflare.checkout.git("rev-parse", "HEAD");
const addStaging = (commit: string | undefined = head()) => addReleases(cloudflare.api, "petstore-staging", 1, commit);

function expectLine(result: Result, message: string | RegExp): void {
  expect(result, result.stderr).toMatchObject({ code: 1, stdout: "" });
  expect(lastLine(result)).toMatch(typeof message === "string" ? new RegExp(`^${RegExp.escape(message)}$`) : message);
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
  [[...STAGING, "--wait", "601"], /argument '601' is invalid\. It takes seconds, from 0 to 600\.$/],
  [
    [...STAGING, "--url", "http://example.com"],
    /is invalid\. An address starts with https:\/\/, or with http:\/\/ on this machine\.$/,
  ],
  [[...STAGING, "--commit", "main"], /argument 'main' is invalid\. A commit has 7 to 40 hexadecimal digits\.$/],
  [[...STAGING, "--promote", VERSION], "Option '--promote <version id>' cannot be used with option '--skip-checks'"],
  [["--env=staging", "--promote", VERSION, "--new-token-secret"], /cannot be used with option '--new-token-secret'$/],
  [[...STAGING, "--gradual", "10", "--new-token-secret"], /cannot be used with option '--gradual <percent>'$/],
])("%j", async (args, message) => {
  const result = await runHere(runRelease, args);
  expect(result.stderr).toMatch(/^[^\n]+\n$/);
  expectLine(result, message);
  expect(cloudflare.api.requests).toEqual([]);
});

/** Changes the wrangler.toml of the checkout, in a commit. */
function changeSettings(change: (text: string) => string): void {
  const file = join(cloudflare.checkout.folder, "wrangler.toml");
  const before = readFileSync(file, "utf8");
  writeFileSync(file, change(before));
  expect(readFileSync(file, "utf8")).not.toBe(before);
  commitUntilEnd(cloudflare.checkout, "A mistake");
}

const removeTable = (setting: string) => () => {
  addStaging();
  changeSettings((text) => text.replace(new RegExp(`^\\[\\[env\\.staging\\.${setting}\\]\\]\\n(?:.+\\n)+`, "m"), ""));
};

const connectOther = (type: string) => () => {
  for (const { bindings } of addStaging().versions)
    for (const binding of bindings)
      if (binding.type === type) Object.assign(binding, { id: "other", namespace_id: "other" });
};

const { database, namespace } = idsOf("staging");
const UNCONFIRMED = "Production needs a confirmation. Say --yes.";

const REFUSED: { [name: string]: { prepare?: () => unknown; args?: string[]; line: string | RegExp; more?: string } } =
  {
    "another commit": {
      args: [...STAGING, "--commit", "0000000"],
      line: /^Commit [0-9a-f]{40} is checked out, not 0000000\.$/,
    },
    "a commit without a tag, to production": {
      args: PRODUCTION,
      line: `Production gets tagged commits, and this one has no tag ${TAG}. Tag it, or say --untagged.`,
    },
    "a release to production without a confirmation": {
      args: [...PRODUCTION, "--untagged"],
      line: UNCONFIRMED,
      more: `This releases ${TAG} (`,
    },
    "a release to production that brings a class, without a confirmation": {
      prepare: () => removeClasses(addReleases(cloudflare.api, "petstore-production", 1)),
      args: [...PRODUCTION, "--untagged", "--force"],
      line: UNCONFIRMED,
      more: "\nIt brings the migration v1 of Durable Objects, ",
    },
    "files that are not committed": {
      prepare: () => {
        writeFileSync(join(cloudflare.checkout.folder, "new.txt"), "new");
        onTestFinished(() => void cloudflare.checkout.git("clean", "--quiet", "--force"));
      },
      line: "There are files that are not committed (git status). Only a commit can be released.",
    },
    "checks that fail, even for a tagged commit in production": {
      prepare: () => {
        const { api, checkout } = cloudflare;
        addReleases(api, "petstore-production", 1, head());
        const manifest = { version: packageJson.version, type: "module", scripts: { check: "exit 1" } };
        writeFileSync(join(checkout.folder, "package.json"), JSON.stringify(manifest));
        commitUntilEnd(checkout, "Checks that fail");
        checkout.git("tag", TAG);
        onTestFinished(() => void checkout.git("tag", "--delete", TAG));
      },
      args: ["--env", "production", "--yes"],
      line: "npm run check fails, so nothing was released.",
    },
    "an environment without d1_databases, although the top level has some": {
      prepare: removeTable("d1_databases"),
      line: "wrangler.toml names no database in env.staging.",
    },
    "an environment without kv_namespaces, although the top level has some": {
      prepare: removeTable("kv_namespaces"),
      line: "wrangler.toml names no KV namespace in env.staging.",
    },
    "a release over a version that does not tell its commit": {
      prepare: () => addReleases(cloudflare.api, "petstore-staging", 1),
      line: /^Version \S+ is deployed, and does not tell its commit\. To release all/,
    },
    "a release over a version that comes from a commit of somebody else": {
      prepare: () => addStaging("0123456789abcdef"),
      line: "Commit 0123456789ab is deployed, and this clone does not have it. Fetch it first. To release all the same, say --force.",
    },
    "a gradual release that is the first one": {
      args: [...STAGING, "--gradual", "10"],
      line: "petstore-staging has no version yet. The first release cannot be gradual: leave out --gradual.",
    },
    "a gradual release that brings a class of Durable Objects": {
      prepare: () => removeClasses(addStaging()),
      args: [...STAGING, "--gradual", "10"],
      line:
        "This release brings the migration v1 of Durable Objects, which Cloudflare applies for all requests at once: leave out --gradual. " +
        "docs/releases.md explains the two releases that a new class takes.",
    },
    "a commit that does not know the classes of the Worker, although somebody insists": {
      prepare: () => (addStaging().migrationTag = "v2"),
      args: [...STAGING, "--force"],
      line: "petstore-staging has the migration v2 of Durable Objects, and wrangler.toml does not. Release a commit that has it.",
    },
    "a Worker that uses another database than wrangler.toml names": {
      prepare: connectOther("d1"),
      line:
        `petstore-staging uses the database other, and wrangler.toml names ${database}. docs/runbook/deleted.md has the choice. ` +
        "To release with that one, say --new-database.",
    },
    "a Worker that uses another namespace than wrangler.toml names": {
      prepare: connectOther("kv_namespace"),
      line:
        `petstore-staging uses the KV namespace other, and wrangler.toml names ${namespace}. docs/runbook/deleted.md has the choice. ` +
        "To release with that one, say --new-namespace.",
    },
    "a Worker with another name than the one that uses its resources": {
      prepare: () => {
        addStaging();
        changeSettings((text) => text.replace("[env.staging]\n", '[env.staging]\nname = "petstore-renamed"\n'));
      },
      line:
        `The Worker petstore-staging uses ${namespace}, which wrangler.toml names for petstore-renamed. Two Workers may not share the data. ` +
        "Give the environment the name petstore-staging again, or delete that Worker first.",
    },
    "a database that wrangler.toml gives another name": {
      prepare: () => {
        addStaging();
        cloudflare.api.databases.find("petstore-staging").name = "petstore-production";
      },
      line: `wrangler.toml calls the database ${database} of staging petstore-staging, and its name is petstore-production.`,
    },
    "a setting that the service does not understand": {
      prepare: () => changeSettings((text) => text.replaceAll(/^READS = .*/gm, 'READS = "Primary"')),
      line: 'READS is "Primary", which the service does not understand: [env.staging.vars] in wrangler.toml, docs/operations.md.',
    },
    "without ids in wrangler.toml, a deployed Worker, whose ids are shown": {
      prepare: () => {
        forgetResources(cloudflare.checkout);
        addStaging();
      },
      line:
        "petstore-staging is deployed with these resources, and wrangler.toml does not name them. " +
        "Add their ids there as above, commit them, and start again.",
      more:
        `[[env.staging.d1_databases]]\nbinding = "DB"\ndatabase_id = "${database}"\n` +
        `[[env.staging.kv_namespaces]]\nbinding = "API_KEYS"\nid = "${namespace}"\n`,
    },
    "without ids in wrangler.toml, a first release without a place": {
      prepare: () => forgetResources(cloudflare.checkout),
      line:
        "There is no database yet, and its place cannot be changed later. " +
        "Say --location (weur, eeur, apac, oc, wnam, enam, auto) or --jurisdiction (eu, fedramp, us).",
    },
  };

async function expectRefusal({ prepare, args = STAGING, line, more = "" }: (typeof REFUSED)[string]): Promise<void> {
  prepare?.();
  const result = await cloudflare.checkout.run("ops/run.ts", ["release", ...args]);
  expectLine(result, line);
  expect(result.stderr).toContain(more);
  expect(cloudflare.api.requests.filter((request) => !request.startsWith("GET "))).toEqual([]);
}

test.each(Object.keys(REFUSED))("%s", (name) => expectRefusal(REFUSED[name] ?? expect.unreachable()));

test.each([
  ["WEBHOOK_DENIED_HOSTS", "*.evil.com"],
  ["CONSOLE", "On"],
  ["MCP_ORIGINS", "https://a.example/"],
  ["LOG_SUCCESS_SHARE", "10%"],
  ["READ_MAX_AGE", "5s"],
  ["READS", "Primary"],
  ["EVENT_DAYS", "-1"],
  ["EVENT_DAYS", 7],
  ["STORED_MIB", "0"],
  ["ENVIRONMENT", "production"],
  ["READMAXAGE", "5"],
  ["READS", undefined],
])("the setting %s does not have the value %j", (name, value) => {
  const target = readTarget("staging");
  const { vars } = target.configuration;
  refuseSettings(target);
  Object.assign(target.configuration, { vars: { ...vars, [name]: value } });
  const problem =
    value === undefined ? "is missing" : `is ${JSON.stringify(value)}, which the service does not understand`;
  expect(() => refuseSettings(target)).toThrow(`${name} ${problem}: [env.staging.vars] in wrangler.toml`);
});

test("a promotion and a rollback in production without a confirmation", async () => {
  const [first, second] = makeSecondGradual(addReleases(cloudflare.api, "petstore-production", 2));
  const promoted = await runHere(runRelease, ["--env", "production", "--promote", second]);
  expectLine(promoted, UNCONFIRMED);
  expect(promoted.stderr).toContain(`This gives version ${second} all requests of production.\n`);
  const back = await runHere(runRollback, ["--env", "production"]);
  expectLine(back, UNCONFIRMED);
  expect(back.stderr).toContain(first);
});

test("a commit that does not descend from the deployed one, unless somebody insists", async () => {
  const { api, checkout } = cloudflare;
  const older = head();
  checkout.commit("Something newer");
  const newer = head();
  checkout.git("reset", "--quiet", "--hard", older);
  const line = `Commit ${newer.slice(0, 12)} is deployed, and ${older.slice(0, 12)} does not descend from it. To release all the same, say --force.`;
  await expectRefusal({ prepare: () => addStaging(newer), line });
  // It gets as far as its first change.
  api.break("POST", "/query", new Refusal(403, 10_000, "Authentication error"));
  const forced = await checkout.run("ops/run.ts", ["release", ...STAGING, "--force"]);
  expect(lastLine(forced)).toContain("/query: Authentication error");
});

test("without ids in wrangler.toml, a first release in a pipeline, and the commands that need an id", async () => {
  const { checkout } = cloudflare;
  forgetResources(checkout);
  const inPipeline = await checkout.run("ops/run.ts", ["release", ...STAGING, "--location=weur"], {
    env: { CI: "true" },
  });
  expect(lastLine(inPipeline)).toBe(
    "wrangler.toml does not name the resources of staging. Its first release creates them, and a person runs it: docs/releases.md.",
  );
  for (const command of ["keys list", "backup --to backups/none"]) {
    const result = await checkout.run("ops/run.ts", [...command.split(" "), "--env", "staging"]);
    expect(result).toMatchObject({ code: 1, stdout: "" });
    expect(result.stderr).toMatch(/^wrangler\.toml has no (?:database_)?id in \[\[env\.staging\.\w+\]\]\. /m);
  }
});
