import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { CloudflareApi } from "./cloudflare/api.ts";
import { Checkout, type Result } from "./cloudflare/checkout.ts";
import { Edge } from "./cloudflare/edge.ts";
import { addReleases, closeAccount, endLeases, lastLine, openAccount } from "./cloudflare/fixture.ts";

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

function release(checkout: Checkout, edge: Edge, options?: { signal: AbortSignal }): Promise<Result> {
  // A person waits longer than this for a key or a version to arrive.
  const args = ["--env", "staging", "--skip-checks", "--wait", "0", "--url", edge.url];
  return checkout.run("ops/run.ts", ["release", ...args], options);
}

async function withAccount(use: (api: CloudflareApi, edge: Edge) => Promise<void>): Promise<void> {
  const api = await openAccount();
  const edge = await new Edge(api, WORKER).listen();
  try {
    addReleases(api, WORKER, 1, base);
    await use(api, edge);
  } finally {
    await edge.close();
    await closeAccount(api);
  }
}

function deployedCommit(api: CloudflareApi): string | undefined {
  const worker = api.workers.all.get(WORKER);
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

test("of two releases at once, the newer commit is deployed", { timeout: 7_200_000 }, async () => {
  const ends: Record<string, number> = {};
  for (let race = 0; race < RACES; race++) {
    await withAccount(async (api, edge) => {
      const first = race % 2 === 0 ? older : newer;
      const second = first === older ? newer : older;
      const [one, two] = await Promise.all([release(first, edge), release(second, edge)]);
      const [old, new_] = first === older ? [one, two] : [two, one];
      const what = `race ${race}\n${old.stderr}\n${new_.stderr}`;
      expect(new_.code, what).toBe(0);
      expect(deployedCommit(api), what).toBe(newer.git("rev-parse", "HEAD").slice(0, 12));
      // The older one came first, or was refused.
      if (old.code !== 0) expect(lastLine(old), what).toMatch(/does not descend from it|^Somebody changed/);
      const end = old.code === 0 ? "the older one came first" : "the older one was refused";
      ends[end] = (ends[end] ?? 0) + 1;
      console.log(`Race ${race + 1}: ${end}.`);
    });
  }
  console.log(`${RACES} races:`, JSON.stringify(ends));
});

test.runIf(process.platform === "linux")(
  "after a release that was killed, nothing of it undoes a newer one",
  { timeout: 7_200_000 },
  async () => {
    const moments: number[] = [];
    for (let count = 0; count < KILLS; count++) {
      await withAccount(async (api, edge) => {
        const moment = Math.floor(Math.random() * REQUESTS);
        const killing = new AbortController();
        const killed = release(older, edge, killing);
        await Promise.race([
          killed,
          vi.waitUntil(() => api.requests.length >= moment, { timeout: 600_000, interval: 5 }),
        ]);
        expect(processList()).not.toMatch(/token-of-the-tests|petstore_staging_/);
        killing.abort("SIGKILL");
        await killed;
        moments.push(api.requests.length);
        endLeases(api);
        const result = await release(newer, edge);
        const what = `killed at request ${moments.at(-1)}\n${result.stderr}`;
        expect(result.code, what).toBe(0);
        await vi.waitUntil(() => !isInUse(older.folder), { timeout: 60_000 });
        expect(deployedCommit(api), what).toBe(newer.git("rev-parse", "HEAD").slice(0, 12));
        console.log(`Kill ${count + 1}: after ${moments.at(-1)} requests.`);
      });
    }
    console.log(`${KILLS} kills, after so many requests: ${moments.join(" ")}`);
  },
);
