// npm run generate:transcript: lives through the life of an API key against `npm run dev`, on storage of its own, and writes what it
// saw into docs/keys.md.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { RECORD_SECONDS } from "../src/auth/key-lookup.ts";
import { putTranscript } from "./docs/transcript.ts";

/** Seconds that both keys work in this transcript. */
const OVERLAP = 40;

const state = mkdtempSync(join(tmpdir(), "petstore-transcript-"));
const lines: string[] = [];
const service = spawn(process.execPath, ["scripts/dev.ts", "--persist-to", state], {
  stdio: ["ignore", "pipe", "inherit"],
});
try {
  const base = await new Promise<string>((resolve, reject) => {
    createInterface({ input: service.stdout })
      .on("line", (line) => {
        const address = /Base address +(\S+)/.exec(line)?.[1];
        if (address !== undefined) resolve(address);
      })
      .on("close", () => reject(new Error("npm run dev ended")));
  });

  const first = JSON.parse(keys("create", "--name", "shop", "--scopes", "pets:read", "--expires", "90d", "--json"));
  keys("list");
  use(base, "FIRST", first.key);
  const second = JSON.parse(keys("rotate", first.id, "--overlap", `${OVERLAP}s`, "--json"));
  keys("show", first.id);
  use(base, "FIRST", first.key);
  use(base, "SECOND", second.key);
  const wait = Math.max(OVERLAP, RECORD_SECONDS) + 1;
  say(`$ sleep ${wait}   # longer than the overlap, and than the ${RECORD_SECONDS} seconds of the isolate's cache`, "");
  await sleep(wait * 1_000);
  use(base, "FIRST", first.key);
  use(base, "SECOND", second.key);
  keys("revoke", second.id);
  say(`$ sleep ${RECORD_SECONDS + 1}`, "");
  await sleep((RECORD_SECONDS + 1) * 1_000);
  use(base, "SECOND", second.key);
  keys("list");

  putTranscript("docs/keys.md", lines.join("\n"), comparable);
} finally {
  service.kill("SIGINT");
  await once(service, "exit");
  rmSync(state, { recursive: true });
}

function say(...text: string[]): void {
  lines.push(...text);
}

function keys(command: string, ...args: string[]): string {
  const all = [command, "--env", "local", ...args];
  const output = execFileSync(process.execPath, ["scripts/keys.ts", ...all, "--persist-to", state], {
    encoding: "utf8",
  });
  say(`$ npm run --silent keys -- ${all.join(" ")}`, output);
  return output;
}

function use(base: string, name: string, key: string): void {
  const command = `curl -s -H "Authorization: Bearer $${name}" "$BASE/pets?limit=1"`;
  const env = { ...process.env, BASE: base, [name]: key };
  say(`$ ${command}`, execFileSync("sh", ["-c", command], { encoding: "utf8", env }), "");
}

function comparable(text: string): string {
  return text
    .replaceAll(/\bkey_\w{12}\b/g, "key_XXXXXXXXXXXX")
    .replaceAll(/\bpetstore_local_\w{36}\b/g, "petstore_local_X")
    .replaceAll(/\b\d{4}-\d\d-\d\dT[\d:.]+/g, "2026-01-01T00:00:00");
}
