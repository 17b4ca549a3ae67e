import { setTimeout as wait } from "node:timers/promises";
import { ERRORS, type ErrorBody } from "../../../src/errors.ts";

/** Milliseconds from one request to the next. The load does not wait for responses. */
const INTERVAL = 25;
/** Milliseconds after which a response counts as lost. */
const PATIENCE = 60_000;
/** The failures that an honest client has to expect (docs/errors.md). */
const EXPECTED_FAILURES = ["rate_limited", "service_unavailable"] as const;

export interface Answer {
  /** Milliseconds since the load began. */
  start: number;
  /** Milliseconds. */
  latency: number;
  /** Whether it was sent during the hostile load. */
  troubled: boolean;
  /** A documented failure that clients have to expect. */
  failure?: string;
  created: boolean;
}

export interface SteadyLoad {
  answers: Answer[];
  /** The number of requests without a response or with an undocumented one, by cause. */
  lost: Map<string, number>;
}

interface Target {
  url: URL;
  /** Used in turn, so that none reaches its rate limit. */
  keys: string[];
}

/** Lists, fetches and creates in turn at a constant rate. Returns when the last response has arrived or is lost. */
export async function sendSteadyLoad(
  { url, keys }: Target,
  milliseconds: number,
  isTroubled: () => boolean,
): Promise<SteadyLoad> {
  const load: SteadyLoad = { answers: [], lost: new Map() };
  const pending: Promise<void>[] = [];
  const begin = performance.now();
  for (let n = 0; n * INTERVAL < milliseconds; n++) {
    await wait(Math.max(0, begin + n * INTERVAL - performance.now()));
    const key = keys[n % keys.length] ?? "";
    pending.push(ask(requestOf(n, url, key)));
    // It creates the animal that the other requests fetch.
    if (n === 0) await pending[0];
  }
  await Promise.all(pending);
  return load;

  async function ask(request: Request): Promise<void> {
    const start = performance.now() - begin;
    const troubled = isTroubled();
    try {
      const response = await fetch(request);
      const body: unknown = await response.json();
      const latency = performance.now() - begin - start;
      const created = response.status === 201;
      if (response.ok) load.answers.push({ start, latency, troubled, created });
      else load.answers.push({ start, latency, troubled, created, failure: expectedFailure(response.status, body) });
    } catch (error) {
      const cause = `${request.method}: ${causeOf(error)}`;
      load.lost.set(cause, (load.lost.get(cause) ?? 0) + 1);
    }
  }
}

function requestOf(n: number, url: URL, key: string): Request {
  const headers = { Authorization: `Bearer ${key}` };
  const signal = AbortSignal.timeout(PATIENCE);
  if (n % 3 !== 0) {
    return new Request(new URL(n % 3 === 1 ? "/v1/pets" : "/v1/pets/1", url), { headers, signal });
  }
  return new Request(new URL("/v1/pets", url), {
    method: "POST",
    headers: { ...headers, "Content-Type": "application/json", "Idempotency-Key": `soak-${n}` },
    body: JSON.stringify({ name: `Animal ${n}`, categoryId: n }),
    signal,
  });
}

/** @throws Error for an undocumented response. */
function expectedFailure(status: number, body: unknown): string {
  const { code } = body as Partial<ErrorBody>;
  const expected = EXPECTED_FAILURES.find((known) => known === code && ERRORS[known].status === status);
  if (expected === undefined) throw new Error(`status ${status}, code ${code}`);
  return expected;
}

function causeOf(error: unknown): string {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}
