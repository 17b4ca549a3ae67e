import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { packClient } from "../../scripts/client/pack.ts";

let folder: string;
let archive: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "petstore-client-"));
  archive = packClient(folder);
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(tool: string, args: string[]): { status: number | null; output: string } {
  const { status, stdout, stderr } = spawnSync(join(import.meta.dirname, "node_modules/.bin", tool), args, {
    encoding: "utf8",
  });
  return { status, output: stdout + stderr };
}

test("publint finds nothing to say about the client, at its strictest", () => {
  const { status, output } = run("publint", ["run", "--strict", archive]);
  expect(status, output).toBe(0);
  expect(output).toContain("All good!");
});

test("the types of the client resolve with every way to import ECMAScript modules", () => {
  const { status, output } = run("attw", [archive, "--profile", "esm-only", "--no-emoji"]);
  expect(status, output).toBe(0);
});
