import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "../..");

let project: string;
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "petstore-client-types-"));
  for (const path of ["package.json", "scripts/generate-client-types.ts", "scripts/client/document.ts"]) {
    cpSync(join(ROOT, path), join(project, path));
  }
});
afterAll(() => rmSync(project, { recursive: true }));

test("without the generator of the client's types, the message tells how to install it", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/generate-client-types.ts"], {
    cwd: project,
    encoding: "utf8",
  });
  expect(stderr).toBe("openapi-typescript is not installed. Run npm ci --prefix test/third-party.\n");
  expect(status).toBe(1);
});
