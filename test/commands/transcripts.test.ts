import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";

// The transcripts of the documentation are those that `npm run generate:transcript` writes today.

/** Milliseconds. The life of a key takes more than a minute, most of which it waits for its ends. */
const TIMEOUT = 500_000;

test.concurrent.each(["scripts/keys-transcript.ts", "scripts/release-transcript.ts"])(
  "%s",
  { timeout: TIMEOUT },
  async (script) => {
    const child = spawn(process.execPath, [script, "--check"], { stdio: ["ignore", "ignore", "pipe"] });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect(code, stderr).toBe(0);
  },
);
