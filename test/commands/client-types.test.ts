import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";

test("the types of the client are those that the command writes", () => {
  const folder = mkdtempSync(join(tmpdir(), "petstore-client-types-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const fresh = join(folder, "schema.ts");
  execFileSync(process.execPath, ["scripts/generate-client-types.ts", fresh]);
  // npm run check:client compares the first line alone, which names the document.
  expect(readFileSync("client/src/schema.ts", "utf8")).toBe(readFileSync(fresh, "utf8"));
});
