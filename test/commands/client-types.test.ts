import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { temporaryFolder } from "../built/folder.ts";

test("the types of the client are those that the command writes", () => {
  const fresh = join(temporaryFolder(onTestFinished), "schema.ts");
  execFileSync(process.execPath, ["scripts/generate-client-types.ts", fresh]);
  // npm run check:client compares the first line alone, which names the document.
  expect(readFileSync("client/src/schema.ts", "utf8")).toBe(readFileSync(fresh, "utf8"));
});
