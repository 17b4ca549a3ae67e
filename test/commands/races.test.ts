import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { Checkout, type Result } from "./cloudflare/checkout.ts";
import { addReleases, endLeases, lastLine, useAccount } from "./cloudflare/fixture.ts";

// Releases of two commits that meet. Whatever happens to the older one, the newer commit is deployed at the end. RACES=20 KILLS=30 repeats
// them.

const RACES = Number(process.env["RACES"] ?? 1);
const KILLS = Number(process.env["KILLS"] ?? 1);
/** Requests that a release sends. */
const REQUESTS = 28;

const WORKER = "petstore-staging";

let older: Checkout;
let newer: Checkout;
let base: string;
beforeAll(() => {
  older = new Checkout();
  newer = new Checkout();
  base = older.git("rev-parse", "HEAD");
  older.commit("Older");
  // Both clones know each other's commits, as after a fetch.
  newer.git("fetch", "--quiet", older.folder);
  newer.git("reset", "--quiet", "--hard", "FETCH_HEAD");
  newer.commit("Newer");
  older.git("fetch", "--quiet", newer.folder);
});
afterAll(() => {
  older.remove();
  newer.remove();
});

function release(checkout: Checkout, options?: { signal: AbortSignal }): Promise<Result> {
  // A person waits longer than this for a key or a version to arrive.
  const args = ["--env", "staging", "--skip-checks", "--wait", "0", "--url", cloudflare.edge.url];
  return checkout.run("ops/run.ts", ["release", ...args], options);
}

const cloudflare = useAccount(WORKER);
beforeEach(() => void addReleases(cloudflare.api, WORKER, 1, base));

function deployedCommit(): string | undefined {
  const worker = cloudflare.api.workers.all.get(WORKER);
  const shares = worker?.deployments.at(-1)?.versions ?? [];
  expect(shares).toHaveLength(1);
  return worker?.versions.find(({ id }) => id === shares[0]?.version_id)?.annotations["workers/message"];
}

/** The arguments of every process, as other users of the machine see them. */
function processList(): string {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, "utf8");
      } catch {
        // It has ended meanwhile.
        return "";
      }
    })
    .join("\n");
}

/** Whether a process is in a folder. */
function isInUse(folder: string): boolean {
  return readdirSync("/proc").some((pid) => {
    try {
      return /^\d+$/.test(pid) && readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
    } catch {
      // It has ended, or belongs to somebody else.
      return false;
    }
  });
}

const numbersTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1);

test.each(numbersTo(RACES))("race %i: of two releases at once, the newer commit is deployed", async (race) => {
  const isOlderFirst = race % 2 === 1;
  const [one, two] = await Promise.all((isOlderFirst ? [older, newer] : [newer, older]).map((each) => release(each)));
  const [old, new_] = isOlderFirst ? [one, two] : [two, one];
  const what = `${old?.stderr}\n${new_?.stderr}`;
  expect(new_?.code, what).toBe(0);
  expect(deployedCommit(), what).toBe(newer.git("rev-parse", "HEAD").slice(0, 12));
  // The older one came first, or was refused.
  if (old?.code !== 0)
    expect(lastLine(old ?? expect.unreachable()), what).toMatch(/does not descend from it|^Somebody changed/);
});

test.runIf(process.platform === "linux").each(numbersTo(KILLS))(
  "kill %i: after a release that was killed, nothing of it undoes a newer one",
  async () => {
    const { api } = cloudflare;
    const moment = Math.floor(Math.random() * REQUESTS);
    const killing = new AbortController();
    const killed = release(older, killing);
    await Promise.race([killed, vi.waitUntil(() => api.requests.length >= moment, { timeout: 600_000, interval: 5 })]);
    expect(processList()).not.toMatch(/token-of-the-tests|petstore_staging_/);
    killing.abort("SIGKILL");
    await killed;
    const what = `killed at request ${api.requests.length}`;
    endLeases(api);
    const result = await release(newer);
    expect(result.code, `${what}\n${result.stderr}`).toBe(0);
    await vi.waitUntil(() => !isInUse(older.folder), { timeout: 60_000 });
    expect(deployedCommit(), what).toBe(newer.git("rev-parse", "HEAD").slice(0, 12));
  },
);
