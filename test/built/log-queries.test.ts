import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test, vi } from "vitest";
import type { RequestLine } from "../../src/log/log.ts";
import { temporaryFolder } from "./folder.ts";
import { useBuiltService } from "./service.ts";

// Runs the jq commands of docs/observability.md unchanged in a shell, on lines that the production bundle wrote.

const PAGE = readFileSync("docs/observability.md", "utf8");
const HAS_JQ = spawnSync("jq", ["--version"]).status === 0;

const COMMANDS = new Map(
  PAGE.slice(PAGE.indexOf("\n## Queries\n"), PAGE.indexOf("\n## Objectives\n"))
    .split("\n### ")
    .slice(1)
    .map((section) => [
      section.slice(0, section.indexOf("\n")),
      [...section.matchAll(/```sh\n([^]+?)```/g)].map(([, command = ""]) => command),
    ]),
);

const folder = temporaryFolder();
const service = useBuiltService();
/** Lines of the production bundle, by the kind of request. */
let recorded: { [name: string]: RequestLine };
beforeAll(async () => {
  const headers = { Authorization: `Bearer ${service.key}`, "Content-Type": "application/json" };
  const send = async (path: string, init: RequestInit = { headers }): Promise<RequestLine> => {
    const response = await fetch(new URL(path, service.url), init);
    await response.arrayBuffer();
    const id = response.headers.get("X-Request-Id") ?? expect.unreachable();
    const line = () => {
      const { message } = service.harness.getLogs().find(({ message }) => message.includes(id)) ?? { message: "" };
      return JSON.parse(message) as RequestLine;
    };
    return vi.waitFor(line, 30_000);
  };
  const body = '{"name":"Rex","categoryId":1}';
  recorded = {
    created: await send("/v1/pets", { method: "POST", headers, body }),
    listed: await send("/v1/pets"),
    fetched: await send("/v1/pets/1"),
    refused: await send("/v1/pets", {}),
  };
});

/** Turns a recorded line into one from Cloudflare, with another duration and D1 instance. */
function line(name: string, change: Partial<RequestLine> = {}): RequestLine {
  return { ...(recorded[name] ?? expect.unreachable()), deployment: "old", keyId: "key_shop", ...change };
}

/** Runs the command of a query on these lines, and returns the objects that it prints. */
function run(heading: string, lines: object[], env: Record<string, string> = {}): unknown[] {
  writeFileSync(join(folder, "lines.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  const [command = ""] = COMMANDS.get(heading) ?? expect.unreachable(`There is no query ${heading}`);
  const output = execFileSync("sh", ["-ec", command], {
    cwd: folder,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  return output
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text));
}

const CAUSE = { level: "error", requestId: "3", name: "Error", message: "D1_ERROR: overloaded", stack: "Error: ..." };
const JOB = { level: "info", event: "idempotency keys forgotten", count: 0, finished: true };
const BROKEN = { status: 503, errorCode: "service_unavailable" };
const kept = { weight: 10 };

/** Every query, with its input and its expected output. A query without an entry fails. */
const CASES: { [heading: string]: () => { lines: object[]; env?: Record<string, string>; expected: unknown[] } } = {
  "Failing requests": () => ({
    lines: [line("listed", kept), line("refused"), line("listed", BROKEN), line("listed", BROKEN), CAUSE, JOB],
    expected: [
      { requests: 2, route: "/v1/pets", status: 503, errorCode: "service_unavailable" },
      { requests: 1, route: "/v1/pets", status: 401, errorCode: "unauthorized" },
    ],
  }),
  "Causes of failures": () => ({
    lines: [line("listed"), CAUSE, { ...CAUSE, requestId: "4" }, { ...CAUSE, name: "TypeError" }, JOB],
    expected: [
      { lines: 2, name: "Error", message: CAUSE.message, requestId: "3" },
      { lines: 1, name: "TypeError", message: CAUSE.message, requestId: "3" },
    ],
  }),
  "One request": () => {
    const mine = line("listed", { ...BROKEN, requestId: "3" });
    const traced = line("listed", { requestId: "5", traceId: "3" });
    return {
      lines: [line("listed"), mine, CAUSE, traced, JOB],
      env: { REQUEST_ID: "3" },
      expected: [mine, CAUSE, traced],
    };
  },
  "Requests of each key": () => ({
    lines: [
      line("listed", kept),
      line("listed", BROKEN),
      line("fetched", { keyId: "key_app" }),
      { ...line("refused"), keyId: undefined },
      CAUSE,
      JOB,
    ],
    expected: [
      { keyId: "key_shop", requests: 11, failures: 1, routes: ["/v1/pets"] },
      { keyId: "key_app", requests: 1, failures: 0, routes: ["/v1/pets/:petId"] },
    ],
  }),
};

test("every query has a test, and every test a query", () => {
  expect([...COMMANDS.keys()].filter((heading) => heading !== "Recording lines")).toEqual(Object.keys(CASES));
});

test.skipIf(!HAS_JQ).each(Object.keys(CASES))("%s", (heading) => {
  const { lines, env, expected } = CASES[heading]?.() ?? expect.unreachable();
  expect(run(heading, lines, env)).toEqual(expected);
});

test.skipIf(!HAS_JQ)("lines are recorded from wrangler tail", () => {
  // wrangler prints each event of the tail as JSON over several lines.
  const event = (...messages: unknown[]) => ({
    outcome: "ok",
    logs: messages.map((message) => ({ level: "log", timestamp: 0, message: [message] })),
    exceptions: [],
  });
  const overload = { event: { type: "overload", message: "Tail is currently in sampling mode" }, logs: [] };
  const lines = [line("listed"), CAUSE, JOB];
  const events = [
    event(JSON.stringify(lines[0]), JSON.stringify(lines[1])),
    overload,
    event("no JSON", 5, "5"),
    "The tail ended",
    event(JSON.stringify(JOB)),
  ];
  writeFileSync(join(folder, "tail"), events.map((event) => JSON.stringify(event, null, 2)).join("\n"));
  const [command = ""] = COMMANDS.get("Recording lines") ?? [];
  expect(command).toMatch(/^npx wrangler tail --env production --format json \|\n/);
  execFileSync("sh", ["-ec", command.replace(/^npx wrangler tail [^|]+/, "cat tail ")], { cwd: folder });
  expect(writtenLines()).toEqual(lines);
});

test.skipIf(!HAS_JQ)("lines are recorded from the stored log, with a token that no process shows", () => {
  const lines = [line("listed"), CAUSE, JOB];
  const events = ["no JSON", ...lines].map((source) => ({ source, $metadata: { id: "1" } }));
  writeFileSync(join(folder, "response"), JSON.stringify({ success: true, result: { events: { events } } }));
  const curl = '#!/bin/sh\ncat > input\nprintf "%s\\0" "$@" > arguments\ncat response\n';
  writeFileSync(join(folder, "curl"), curl, { mode: 0o755 });
  const [, command = ""] = COMMANDS.get("Recording lines") ?? [];
  const env = { CLOUDFLARE_API_TOKEN: "secret-token", CLOUDFLARE_ACCOUNT_ID: "account" };
  const PATH = `${folder}:${process.env["PATH"]}`;
  execFileSync("sh", ["-ec", command], { cwd: folder, env: { ...process.env, ...env, PATH } });
  expect(writtenLines()).toEqual(lines);

  expect(readFileSync(join(folder, "input"), "utf8")).toBe('header = "Authorization: Bearer secret-token"\n');
  const [config, stdin, json, body = "", address] = readFileSync(join(folder, "arguments"), "utf8").split("\0");
  expect([config, stdin, json, address]).toEqual([
    "--config",
    "-",
    "--json",
    "https://api.cloudflare.com/client/v4/accounts/account/workers/observability/telemetry/query",
  ]);
  const { timeframe } = JSON.parse(body);
  expect(timeframe.to - timeframe.from).toBeCloseTo(3_600_000, -4);
  expect(timeframe.to / Date.now()).toBeCloseTo(1);
});

function writtenLines(): unknown[] {
  const lines = readFileSync(join(folder, "lines.jsonl"), "utf8").trim().split("\n");
  return lines.map((text) => JSON.parse(text));
}
