import { setTimeout as sleep } from "node:timers/promises";
import { oneLine } from "../one-line.ts";
import type { Terminal } from "../terminal.ts";

export interface SmokeTest {
  address: URL;
  /** The id of the version that has to respond. */
  version: string;
  /** Has that version respond although others have a share of the requests. The Worker's name. */
  pinnedTo?: string;
  /** Whether the version may be from a time when /health did not tell its id. */
  mayBeOlder?: true;
  /** An API key for GET /v1/pets, which alone needs KV and D1. */
  key?: string;
  /** Seconds for the deployment to arrive. */
  wait: number;
}

/** Milliseconds between two attempts, and for one request. */
const PAUSE = 1_000;
const REQUEST_TIMEOUT = 10_000;

/**
 * Sends requests to the deployed service until it responds as it should.
 *
 * @throws Error with the last problem, when the time is over.
 */
export async function smokeTest(test: SmokeTest, terminal: Terminal): Promise<void> {
  terminal.say(`\nSmoke test of ${test.address.origin}, for up to ${test.wait} seconds`);
  const end = Date.now() + test.wait * 1_000;
  for (;;) {
    const problem = await findProblem(test).catch((error: unknown) => `It cannot be reached: ${oneLine(error)}.`);
    if (problem === undefined) break;
    if (Date.now() + PAUSE > end) throw new Error(`The smoke test of ${test.address.origin} failed: ${problem}`);
    terminal.say(`Not yet: ${problem}`);
    await sleep(PAUSE);
  }
  const keyed = test.key === undefined ? "" : " GET /v1/pets is 200 with a key.";
  terminal.say(`GET /health is version ${test.version}. GET /v1/pets is 401 without a key.${keyed}`);
}

async function findProblem(test: SmokeTest): Promise<string | undefined> {
  const { address, version, pinnedTo, mayBeOlder, key } = test;
  const request = (path: string, headers: Record<string, string> = {}) =>
    fetch(new URL(path, address), {
      headers: { ...headers, ...(pinnedTo && { "Cloudflare-Workers-Version-Overrides": `${pinnedTo}="${version}"` }) },
      redirect: "manual",
      signal: AbortSignal.timeout(REQUEST_TIMEOUT),
    });

  const health = await request("/health");
  if (health.status !== 200) return `GET /health is ${health.status}.`;
  const { deployment } = (await health.json()) as { deployment?: string };
  if (deployment !== version && !(mayBeOlder && deployment === undefined)) {
    return `GET /health is version ${deployment ?? "unknown"}, not ${version}.`;
  }
  const stranger = await request("/v1/pets");
  if (stranger.status !== 401) return `GET /v1/pets without a key is ${stranger.status}, not 401.`;
  if (key === undefined) return undefined;
  const client = await request("/v1/pets?limit=1", { Authorization: `Bearer ${key}` });
  return client.status === 200 ? undefined : `GET /v1/pets with the key is ${client.status}, not 200.`;
}
