import { execFile, spawn } from "node:child_process";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
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

const BIN = join(import.meta.dirname, "node_modules/.bin");

function run(tool: string, args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(join(BIN, tool), args, { maxBuffer: 1e9 }, (error, stdout, stderr) => {
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
  const args = ["proxy", DOCUMENT, `${url.origin}/v1`, "--port=0", "--host=127.0.0.1"];
  const prism = spawn(join(BIN, "prism"), args, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void prism.kill());
  let base: string | undefined;
  for await (const line of createInterface(prism.stdout)) {
    base = /Prism is listening on (\S+)/.exec(line)?.[1];
    if (base !== undefined) break;
  }
  const good = { Authorization: `Bearer ${key}` };
  const json = { ...good, "Content-Type": "application/json" };
  const post = (body: object, headers: Record<string, string> = json) => ({
    method: "POST",
    headers,
    body: JSON.stringify(body),
  });
  const once = { ...json, "Idempotency-Key": "prism" };
  const requests: [path: string, status: number, init: RequestInit][] = [
    ["/pets", 201, post({ name: "Rex", categoryId: 7 }, once)],
    ["/pets", 201, post({ name: "Rex", categoryId: 7 }, once)],
    ["/pets", 422, post({ name: "Max", categoryId: 7 }, once)],
    ["/pets", 201, post({ name: "🐕".repeat(255), categoryId: -5, status: "sold" })],
    ["/pets", 400, post({ name: "", categoryId: "5" })],
    ["/pets", 400, post([])],
    ["/pets", 413, post({ name: "x".repeat(70_000), categoryId: 1 })],
    ["/pets", 415, post({}, { ...good, "Content-Type": "text/plain" })],
    ["/pets?limit=1", 200, { headers: good }],
    ["/pets?status=sold&limit=100", 200, { headers: good }],
    ["/pets?limit=0&status=gone", 400, { headers: good }],
    ["/pets", 401, {}],
    ["/pets", 401, { headers: { Authorization: "Bearer nonsense" } }],
    ["/pets/1", 200, { headers: good }],
    ["/pets/12345", 404, { headers: good }],
    ["/pets/abc", 404, { headers: good }],
  ];
  for (const [path, status, init] of requests) {
    const response = await fetch(base + path, init);
    const violations: { location: string[] }[] = JSON.parse(response.headers.get("sl-violations") ?? "[]");
    await response.body?.cancel();
    // Its reports about requests are expected: many are bad on purpose.
    const ours = violations.filter(({ location }) => location[0] !== "request");
    expect([response.status, ours], `${init.method ?? "GET"} ${path}`).toEqual([status, []]);
  }
});
