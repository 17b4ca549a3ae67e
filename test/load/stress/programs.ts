import { setTimeout as wait } from "node:timers/promises";
import { PetStore } from "../../../client/src/index.ts";
import { CALLS } from "../../world/calls.ts";
import type { Exchange } from "../../world/history.ts";
import { Known } from "../../world/known.ts";
import { Random } from "../../world/random.ts";
import { PRESENT } from "../../world/world.ts";

const PROGRAMS = 16;
/** Times that a program sends a call with the same `Idempotency-Key`, also after a pause in which the service is started again. */
const ATTEMPTS = 3;
/** Milliseconds. */
const PAUSE = 300;
const WEIGHTS = Object.fromEntries(Object.entries(CALLS).map(([name, { weight }]) => [name, weight]));
/** What the proxy may respond itself. */
const OF_PROXY = [429, 502, 503];

/** An exchange over a socket. It has no status when no whole response of the service arrived. */
export type Sent = Exchange & { isProxied: boolean };

/**
 * Lets programs make the calls of the world with the official client, over sockets, until it is over.
 *
 * @param keys one for each program in turn.
 * @param timeout milliseconds that the client waits for a response.
 */
export async function runPrograms(
  base: URL,
  keys: readonly string[],
  { seed, isProxied, timeout }: { seed: number; isProxied: boolean; timeout: number },
  isOver: () => boolean,
): Promise<Sent[]> {
  const known = new Known();
  const sent: Sent[] = [];
  let steps = 0;
  await Promise.all(
    Array.from({ length: PROGRAMS }, async (_, index) => {
      const random = new Random(seed, "program", index);
      const apiKey = keys[index % keys.length] ?? "";
      let step = 0;
      const send = async (url: string, init: RequestInit) => {
        const { method = "GET", headers, body } = init;
        const exchange: Sent = {
          id: sent.length,
          step,
          session: `session ${index}`,
          isolate: "",
          version: PRESENT,
          apiKey,
          sentAt: performance.now(),
          method,
          // The service may have another address after a restart.
          path: url.replace(base.origin, ""),
          headers: Object.fromEntries(headers as [string, string][]),
          body: body as string | undefined,
          trips: [],
          faults: [],
          isProxied,
        };
        sent.push(exchange);
        const response = await fetch(url, init);
        const text = await response.text();
        exchange.receivedAt = performance.now();
        if (!isProxied || (isWhole(response.status, text) && !OF_PROXY.includes(response.status))) {
          Object.assign(exchange, { status: response.status, responseHeaders: response.headers, text });
          known.hear(exchange);
        }
        return new Response([204, 304].includes(response.status) ? null : text, response);
      };
      const options = { timeout, retry: { attempts: 8, firstPause: 10, longestPause: 1_000 } };
      const client = new PetStore({ baseUrl: new URL("/v1", base), apiKey, fetch: send, ...options }).session();
      while (!isOver()) {
        step = steps++;
        const call = CALLS[random.weighted(WEIGHTS)]?.prepare({
          random,
          known,
          customers: [],
          idempotencyKey: random.uuid(),
        });
        for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
          const failure: unknown = await call?.(client).then(
            () => undefined,
            (error: unknown) => error,
          );
          // A refusal is final. After anything else, the call may have taken effect.
          if (failure === undefined || (sent.at(-1)?.status ?? 0) >= 400) break;
          await wait(PAUSE);
        }
      }
    }),
  );
  return sent;
}

/** Whether a body is complete, as the proxy may cut it anywhere, also before its first byte. */
function isWhole(status: number, text: string): boolean {
  if ([204, 304].includes(status)) return text === "";
  try {
    return JSON.parse(text) !== undefined;
  } catch {
    return false;
  }
}
