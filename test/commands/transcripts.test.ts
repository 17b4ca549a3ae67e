import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

// The transcripts of the documentation are those that `npm run generate:transcript` writes today.

test.concurrent.each(["scripts/keys-transcript.ts", "scripts/release-transcript.ts"])("%s", async (script) => {
  const child = spawn(process.execPath, [script, "--check"], { stdio: ["ignore", "ignore", "pipe"] });
  const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
  expect(code, stderr).toBe(0);
});
