import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// Runs tools that know the service only from its document. They are packages of this folder, with its own lock file.

const DOCUMENT = "public/openapi.json";

let service: BuiltService;
let folder: string;
beforeAll(async () => {
  service = await startBuiltService();
  folder = mkdtempSync(join(tmpdir(), "petstore-tools-"));
});
afterAll(async () => {
  await service.harness.close();
  rmSync(folder, { recursive: true });
});

interface Outcome {
  code: number;
  output: string;
}

function run(
  tool: string,
  args: string[],
  options: { cwd?: string; env?: Record<string, string> } = {},
): Promise<Outcome> {
  const env = { ...process.env, ...options.env };
  const bin = join(import.meta.dirname, "node_modules/.bin", tool);
  return new Promise((resolve) => {
    execFile(bin, args, { maxBuffer: 1e9, cwd: options.cwd, env }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code), output: stdout + stderr });
    });
  });
}

test("Redocly reports nothing, with its strictest rules", async () => {
  const { code, output } = await run("redocly", [
    "lint",
    DOCUMENT,
    "--config=test/third-party/redocly.yaml",
    "--max-problems=20",
  ]);
  expect(code, output).toBe(0);
  expect(output).not.toMatch(/\bwarning/i);
});

test("Spectral reports nothing, with the rules for OpenAPI and of OWASP", async () => {
  const args = ["lint", DOCUMENT, "--ruleset=test/third-party/spectral.yaml", "--fail-severity=hint"];
  const { code, output } = await run("spectral", args);
  expect(code, output).toBe(0);
});

test("Specmatic's generated requests, good and bad, get documented responses", async () => {
  const document = parseKeepingIntegers(readFileSync(DOCUMENT, "utf8"));
  // Only the stable operations: it expects that the others always find the resources of their examples, which a change or a
  // deletion removes.
  const { get } = document.paths["/pets/{petId}"];
  document.paths = { "/pets": document.paths["/pets"], "/pets/{petId}": { get } };
  // It sends the same key with many bodies and expects a 201 each time, because the document cannot express that a key is used
  // once. It also generates cursors, because the document cannot express that a cursor has to come from a `Link`. It combines all
  // parameters, so those that came last would take it minutes. Its library cannot read the expressions of preconditions. The
  // text of a search needs a letter or a digit, and a class of all scripts' letters is written differently in each language.
  const left = /^(Idempotency-Key|cursor|sort|include|q)$|parameters.(ifMatch|ifNoneMatch|cacheControl)$/;
  const operations: { parameters: { name?: string; $ref?: string }[] }[] = [
    ...Object.values<never>(document.paths["/pets"]),
    get,
  ];
  for (const operation of operations) {
    operation.parameters = operation.parameters.filter(({ name, $ref }) => !left.test($ref ?? name ?? ""));
  }
  for (const name of ["ifMatch", "ifNoneMatch"]) delete document.components.parameters[name];
  writeFileSync(join(folder, "openapi.json"), JSON.stringify(document));
  writeFileSync(
    join(folder, "specmatic.yaml"),
    JSON.stringify({
      version: 2,
      contracts: [{ provides: ["openapi.json"] }],
      security: { OpenAPI: { securitySchemes: { apiKey: { type: "bearer", token: service.key } } } },
    }),
  );
  const { code, output } = await run(
    "specmatic",
    [
      "test",
      `--testBaseURL=${service.url.origin}/v1`,
      // It fetches random ids and expects an animal for each.
      "--filter=!(PATH='/pets/{petId}' && STATUS='200')",
    ],
    { cwd: folder, env: { SPECMATIC_GENERATIVE_TESTS: "true" } },
  );
  const [, tests, failures] = /Tests run: (\d+), Successes: \d+, Failures: (\d+)/.exec(output) ?? [];
  console.log(`Specmatic: ${tests} tests, ${failures} failures`);
  expect({ code, failures }, output.slice(-5_000)).toEqual({ code: 0, failures: "0" });
  expect(Number(tests)).toBeGreaterThan(100);
});

test("Prism, as a validating proxy, finds no undocumented response", async () => {
  // A separate store, because Prism rounds integers and then finds that the largest ones from Specmatic are out of range.
  const { url, key, harness } = await startBuiltService();
  const prism: ChildProcess = spawn(
    join(import.meta.dirname, "node_modules/.bin/prism"),
    ["proxy", DOCUMENT, `${url.origin}/v1`, "--port=0", "--host=127.0.0.1"],
    { stdio: ["ignore", "pipe", "pipe"] },
  );
  try {
    const { stdout } = prism;
    if (stdout === null) throw new Error("no output");
    const base = await new Promise<string>((resolve, reject) => {
      createInterface({ input: stdout })
        .on("line", (line) => {
          const [, address] = /Prism is listening on (\S+)/.exec(line) ?? [];
          if (address !== undefined) resolve(address);
        })
        .on("close", () => reject(new Error("Prism ended before it was ready")));
    });
    const good = { Authorization: `Bearer ${key}` };
    const json = { ...good, "Content-Type": "application/json" };
    const create = { method: "POST", headers: { ...json, "Idempotency-Key": "prism" } };
    const statuses = new Set<number>();
    const requests: [string, RequestInit][] = [
      ["/pets", { ...create, body: '{"name":"Rex","categoryId":7}' }],
      ["/pets", { ...create, body: '{"name":"Rex","categoryId":7}' }],
      ["/pets", { ...create, body: '{"name":"Max","categoryId":7}' }],
      ["/pets", { method: "POST", headers: json, body: '{"name":"Max","categoryId":-5,"status":"sold"}' }],
      ["/pets", { method: "POST", headers: json, body: '{"name":"","categoryId":"5"}' }],
      ["/pets", { method: "POST", headers: json, body: JSON.stringify({ name: "x".repeat(70_000), categoryId: 1 }) }],
      ["/pets", { method: "POST", headers: { ...good, "Content-Type": "text/plain" }, body: "x" }],
      ...["🐕".repeat(255), "\u0000", "Émile", " x ", '"'].map((name, index): [string, RequestInit] => [
        "/pets",
        { method: "POST", headers: json, body: JSON.stringify({ name, categoryId: index - 2, status: "pending" }) },
      ]),
      ...["[]", "{", "null", '{"name":"x"}', '{"categoryId":1}', '{"name":"x","categoryId":1.5}'].map(
        (body): [string, RequestInit] => ["/pets", { method: "POST", headers: json, body }],
      ),
      ...[1, 2, 99, 100].flatMap((limit) =>
        ["", "&status=available", "&status=pending", "&status=sold"].map((filter): [string, RequestInit] => [
          `/pets?limit=${limit}${filter}`,
          { headers: good },
        ]),
      ),
      ["/pets?status=sold&limit=100", { headers: good }],
      ["/pets?limit=0&status=gone", { headers: good }],
      ["/pets", {}],
      ["/pets", { headers: { Authorization: "Bearer nonsense" } }],
      ["/pets/1", { headers: good }],
      ["/pets/12345", { headers: good }],
      ["/pets/abc", { headers: good }],
    ];
    for (const [path, init] of requests) {
      const response = await fetch(base + path, init);
      statuses.add(response.status);
      const violations: { location: string[] }[] = JSON.parse(response.headers.get("sl-violations") ?? "[]");
      // Its reports about requests are expected: many are bad on purpose.
      expect(
        violations.filter(({ location }) => location[0] !== "request"),
        `${init.method ?? "GET"} ${path}`,
      ).toEqual([]);
      await response.body?.cancel();
    }
    expect(statuses).toEqual(new Set([200, 201, 400, 401, 404, 413, 415, 422]));
  } finally {
    prism.kill();
    await harness.close();
  }
});

/** The document has the exact bounds of int64. A copy of it needs them too. */
function parseKeepingIntegers(text: string) {
  const exactJson = JSON as unknown as { rawJSON(text: string): unknown };
  const reviver = (_key: string, value: unknown, { source = "" }: { source?: string } = {}) =>
    typeof value === "number" && !Number.isSafeInteger(value) ? exactJson.rawJSON(source) : value;
  return JSON.parse(text, reviver);
}
