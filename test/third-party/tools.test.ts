import { execFile } from "node:child_process";
import { join } from "node:path";
import { expect, test } from "vitest";

// Runs tools that know the service only from its document. They are packages of this folder, with its own lock file.

const DOCUMENT = "public/openapi.json";

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
