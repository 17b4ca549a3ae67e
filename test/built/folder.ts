import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** When a folder goes: after the tests of the file, unless given, or with `onTestFinished`. */
export type End = (remove: () => void) => void;

export function temporaryFolder(end: End = afterAll, prefix = "petstore-"): string {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  end(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
