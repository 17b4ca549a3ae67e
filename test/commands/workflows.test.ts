import { spawnSync } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { temporaryFolder } from "../built/folder.ts";

interface Step {
  uses?: string;
  run?: string;
  with?: { "persist-credentials"?: boolean };
  env?: Record<string, string>;
}

interface Job {
  uses?: string;
  with?: Record<string, string>;
  needs?: string | string[];
  if?: string;
  permissions?: Record<string, string>;
  environment?: string;
  concurrency?: { group: string; "cancel-in-progress": boolean };
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
const NEEDS_TOKEN = /^npm run (?:--silent )?(?:backup|doctor|preview|release) -- /;

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
  expect(writers.map(({ name }) => name)).toEqual([
    "backup.yml, report",
    "nightly.yml, report",
    "preview.yml, comment",
    "production.yml, notes",
    "report.yml, report",
  ]);
  for (const { name, steps } of writers) {
    for (const step of steps) {
      expect(step.uses, name).toBeUndefined();
      for (const line of step.run?.trim().split("\n") ?? [])
        expect(line, name).toMatch(
          /^ *(?:gh [^;|&]+$|number=\$\(gh [^;|&]+\)$|(?:el)?if \[|\[ -z "\$number" \] \|\| gh [^;|&]+$|else$|fi$)/,
        );
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
    "backup.yml, doctor",
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
      expect(environment, name).toMatch(/^(?:backup|doctor|preview|staging|production)$/);
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
  // A backup goes on for hours, and GitHub ends a job after 360 minutes. The bugs are planted one after the other.
  const long = new Map([
    ["backup.yml, backup", 350],
    ["nightly.yml, mutants", 120],
  ]);
  for (const { name, steps, uses, "timeout-minutes": minutes } of JOBS) {
    if (uses === undefined) expect(minutes, name).toBeLessThanOrEqual(long.get(name) ?? 40);
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

/** A job of a workflow, by the name of its file and its own. */
const jobOf = (name: string) => JOBS.find((job) => job.name === name) ?? expect.unreachable(name);

test("a release to production and a night run all checks, and the other changes those of a change", () => {
  const levels = JOBS.flatMap(({ name, uses, with: inputs }) =>
    uses?.endsWith("/checks.yml") === true ? [[name, uses, inputs?.["level"]]] : [],
  );
  const uses = "./.github/workflows/checks.yml";
  expect(levels).toEqual([
    ["nightly.yml, checks", uses, "all"],
    ["production.yml, checks", uses, "all"],
    ["staging.yml, checks", uses, undefined],
  ]);
  const inputs = { level: { description: expect.any(String), type: "string", default: "" } };
  expect(WORKFLOWS.find(({ name }) => name === "checks.yml")?.workflow.on["workflow_call"]).toEqual({ inputs });
  expect(jobOf("checks.yml, checks").steps.at(-1)).toMatchObject({
    run: 'bash .ci/run "$LEVEL"',
    env: { LEVEL: "${{ inputs.level }}" },
  });
  for (const name of ["production.yml, release", "staging.yml, release"]) {
    const { needs, if: condition } = jobOf(name);
    expect({ needs, condition }, name).toEqual({ needs: "checks", condition: undefined });
  }
});

describe("the report of a night", () => {
  const { steps, concurrency } = jobOf("report.yml, report");
  const run = steps[0]?.run ?? "";
  const folder = temporaryFolder();
  /** Knows the number of the open issue, and prints what changes issues. */
  const GH = '#!/bin/bash\nif [ "$1 $2" = "issue list" ]; then printf %s "$OPEN"; exit "$DOWN"; fi\necho "$@"\n';
  writeFileSync(join(folder, "gh"), GH, { mode: 0o755 });

  test.each([
    { green: true, open: "", calls: "" },
    {
      green: false,
      open: "",
      calls: "label create nightly --force\nissue create --label nightly --title T --body URL\n",
    },
    { green: false, open: "2", calls: "issue comment 2 --body Still not green: URL\n" },
    { green: true, open: "2", calls: "issue close 2 --comment Green again: URL\n" },
    // It opens none when it cannot know of another one.
    { green: false, open: "", down: 1, calls: "" },
  ])("keeps one issue open until a night is green: %o", ({ green, open, down = 0, calls }) => {
    const path = `${folder}:${process.env["PATH"]}`;
    const inputs = { GREEN: String(green), LABEL: "nightly", TITLE: "T", NIGHT: "URL" };
    const env = { ...process.env, PATH: path, OPEN: open, DOWN: String(down), ...inputs };
    expect(run).toContain(`$(gh issue list --state open --label "$LABEL" --json number --jq '.[0].number // ""')`);
    const { status, stdout } = spawnSync("bash", ["-e", "-c", run], { encoding: "utf8", env });
    expect([status, stdout]).toEqual([down, calls]);
  });

  test.each(["nightly.yml", "backup.yml"])(
    "of %s comes after every job, whatever its result, one at a time",
    (file) => {
      const { uses, needs = [], if: condition, with: inputs } = jobOf(`${file}, report`);
      const jobs = WORKFLOWS.find(({ name }) => name === file)?.jobs.map(({ name }) => name) ?? [];
      expect(jobs).toEqual([...needs, "report"]);
      expect({ uses, condition }).toEqual({ uses: "./.github/workflows/report.yml", condition: "always()" });
      expect(inputs?.["green"]).toBe(
        `\${{ ${[...needs].map((name) => `needs.${name}.result == 'success'`).join(" && ")} }}`,
      );
      expect(concurrency).toEqual({ group: "${{ inputs.label }}-report", "cancel-in-progress": false });
    },
  );

  test("a doctor looks at production after each backup, also after one that failed", () => {
    const { steps, needs, if: condition } = jobOf("backup.yml, doctor");
    expect({ needs, condition }).toEqual({ needs: "backup", condition: "always()" });
    expect(steps.at(-1)?.run).toBe("npm run doctor -- --env production");
  });
});
