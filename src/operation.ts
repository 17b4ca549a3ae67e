import type { createFactory } from "hono/factory";
import { HonoBase, type HonoOptions } from "hono/hono-base";
import { TrieRouter } from "hono/router/trie-router";
import type { AppEnv } from "./env.ts";

/**
 * Makes a Hono app with one router, which takes every path of the interface. `Hono` and `createFactory` would bring two more into the
 * bundle: 2 KiB of gzip.
 */
export const createRoutes = (options?: HonoOptions<AppEnv>) =>
  new HonoBase<AppEnv>({ router: new TrieRouter(), ...options });

/** Types the handlers of an operation as handlers of `AppEnv`. `guard` comes first; only `deprecated` may precede it. */
export const createHandlers = ((...handlers: unknown[]) => handlers) as ReturnType<
  typeof createFactory<AppEnv>
>["createHandlers"];

/** What a handler does that the document has to tell. The functions that make handlers know it, so that no description can be wrong. */
export interface Facts {
  readonly operationId: string;
  /** Whether `Cache-Control: max-age` of the request allows a response from the memory of an isolate. */
  readonly cacheable?: true;
  /** Whether it takes `If-Match` and `If-None-Match`. */
  readonly preconditions?: true;
  /** Whether it takes an `Idempotency-Key`. */
  readonly idempotent?: true;
  /** Whether it asks only for the key, so that it takes and returns no bookmark. */
  readonly withoutDatabase?: true;
  /** The headers of its success, beside those of every response. */
  readonly headers?: readonly ("Age" | "ETag" | "Idempotency-Replayed" | "Link")[];
}

/** Adds the facts to the last handler of an operation. Stack traces then show the operation id. */
export function withFacts<Handler extends object>(handler: Handler, facts: Facts): Handler & Facts {
  Object.defineProperty(handler, "name", { value: facts.operationId });
  return Object.assign(handler, facts);
}
