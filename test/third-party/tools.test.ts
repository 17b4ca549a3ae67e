import { type ChildProcess, execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type BuiltService, startBuiltService } from "../built/service.ts";

// Runs tools that know the service only from its document. They are packages of this folder, with its own lock file.

const DOCUMENT = "public/openapi.json";

let service: BuiltService;
beforeAll(async () => {
  service = await startBuiltService();
});
afterAll(async () => {
  await service.harness.close();
});

interface Outcome {
  code: number;
  output: string;
}

function run(tool: string, args: string[]): Promise<Outcome> {
  const bin = join(import.meta.dirname, "node_modules/.bin", tool);
  return new Promise((resolve) => {
    execFile(bin, args, { maxBuffer: 1e9 }, (error, stdout, stderr) => {
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

test("Prism, as a validating proxy, finds no undocumented response", async () => {
  const { url, key } = service;
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
  }
});
