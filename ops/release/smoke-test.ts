import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";

export interface SmokeTest {
  address: URL;
  /** The id of the version that has to respond. */
  version: string;
  /** Has that version respond although others have a share of the requests. The Worker's name. */
  pinnedTo?: string | undefined;
  /** Whether the version may be from a time when /health did not tell its id. */
  mayBeOlder?: boolean;
  /** Whether a 503 for the key is right, because D1 fails for the release too. */
  mayLackDatabase?: boolean;
  /** An API key for GET /v1/pets, which alone needs KV and D1. */
  key?: string | undefined;
  /** Seconds for the deployment to arrive. */
  wait: number;
}

/** Milliseconds between two attempts, and for one request. */
const PAUSE = 1_000;
const REQUEST_TIMEOUT = 10_000;
/** Characters of an unexpected body that a message shows. */
const EXCERPT = 60;

/**
 * Sends requests to the deployed service until it responds as it should.
 *
 * @throws Error with the last problem, when the time is over.
 */
export async function smokeTest(test: SmokeTest, terminal: Terminal): Promise<void> {
  terminal.say(`\nSmoke test of ${test.address.origin}, for up to ${test.wait} seconds`);
  const end = Date.now() + test.wait * 1_000;
  for (let last = ""; ;) {
    try {
      return terminal.say(await look(test));
    } catch (error) {
      const problem = oneLine(error);
      const failure = `The smoke test of ${test.address.origin} failed: ${problem}`;
      if (Date.now() + PAUSE > end) throw new Error(failure, { cause: error });
      if (problem !== last) terminal.say(`Not yet: ${problem}`);
      last = problem;
      await sleep(PAUSE);
    }
  }
}

/** Returns what it found, or throws an Error with a problem. */
async function look(test: SmokeTest): Promise<string> {
  const { address, version, pinnedTo, mayBeOlder, mayLackDatabase, key } = test;
  const request = (path: string, headers: Record<string, string> = {}) =>
    fetch(new URL(path, address), {
      headers: { ...headers, ...(pinnedTo && { "Cloudflare-Workers-Version-Overrides": `${pinnedTo}="${version}"` }) },
      redirect: "manual",
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    }).catch((error: unknown) => {
      throw new Error(`It cannot be reached: ${oneLine(error)}.`);
    });

  const health = await request("/health");
  if (health.status !== 200) throw new Error(`GET /health is ${health.status}.`);
  const text = await health.text();
  // A page of something in between.
  if (!text.startsWith("{"))
    throw new Error(`GET /health is not of the service, and begins with ${JSON.stringify(text.slice(0, EXCERPT))}.`);
  const { deployment } = JSON.parse(text) as { deployment?: string };
  if (deployment !== version && !(mayBeOlder && deployment === undefined))
    throw new Error(`GET /health is version ${deployment ?? "unknown"}, not ${version}.`);
  const stranger = await request("/v1/pets");
  if (stranger.status !== 401) throw new Error(`GET /v1/pets without a key is ${stranger.status}, not 401.`);
  const success = `GET /health is version ${version}. GET /v1/pets is 401 without a key.`;
  if (key === undefined) return success;
  const { status } = await request("/v1/pets?limit=1", { Authorization: `Bearer ${key}` });
  if (status === 200 || (status === 503 && mayLackDatabase)) return `${success} GET /v1/pets is ${status} with a key.`;
  throw new Error(`GET /v1/pets with the key is ${status}, not 200.`);
}
