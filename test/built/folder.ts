import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";

/** A new folder, which goes after the tests of the file, or at another `end`: `onTestFinished`. */
export function temporaryFolder(end: (remove: () => void) => void = afterAll): string {
  const folder = mkdtempSync(join(tmpdir(), "petstore-"));
  end(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }));
  return folder;
}
