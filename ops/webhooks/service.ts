import { setTimeout as sleep } from "node:timers/promises";
import { PetStore, PetStoreError, type Session } from "../../client/src/index.ts";
import type { Scope } from "../../src/auth/scopes.ts";
import type { Cloudflare } from "../release/cloudflare.ts";
import { requireId } from "../release/configuration.ts";
import { createReadinessKey } from "../release/readiness.ts";
import { addressOf, type Target } from "../release/target.ts";
import type { Terminal } from "../terminal.ts";

export type { Session };

/** Milliseconds between two attempts to use a new key. */
const PAUSE = 1_000;

/** Where the service is, and how many seconds to wait for a new key to arrive there. */
export interface ServiceOptions {
  url?: URL;
  wait: number;
}

/**
 * Asks the deployed service, as a client with a key that this makes and removes.
 *
 * @throws Error when KV does not take the key, and when the service does not accept it in time.
 */
export async function withService<Result>(
  cloudflare: Cloudflare,
  target: Target,
  { url, wait, scopes }: ServiceOptions & { scopes: readonly Scope[] },
  terminal: Terminal,
  use: (session: Session) => Promise<Result>,
): Promise<Result> {
  const { env, configuration } = target;
  const address = url ?? (await addressOf(cloudflare, configuration));
  const record = { name: "A command of an operator", scopes: [...scopes] };
  const namespace = requireId(env, "namespace");
  // The first response tells the time, by which the key ends: the clock of this machine may be wrong.
  await cloudflare.get(`/storage/kv/namespaces/${namespace}`);
  const key = await createReadinessKey(cloudflare, namespace, env, terminal, record);
  try {
    const limits = { timeout: 10_000, retry: { totalTime: 30_000 } };
    const session = new PetStore({ baseUrl: new URL("/v1", address), apiKey: key.key, ...limits }).session();
    for (const end = Date.now() + wait * 1_000; ; await sleep(PAUSE)) {
      const problem = await session.key().then(
        () => undefined,
        (error: unknown) => error,
      );
      if (problem === undefined) break;
      const isNew = problem instanceof PetStoreError && problem.code === "unauthorized";
      if (!isNew || Date.now() + PAUSE > end) throw problem;
    }
    return await use(session);
  } finally {
    await key.remove();
  }
}
