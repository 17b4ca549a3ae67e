import type { createFactory } from "hono/factory";
import { HonoBase, type HonoOptions } from "hono/hono-base";
import type { Result, Router as HonoRouter } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import type { AppEnv } from "./env.ts";

/**
 * Hono's `TrieRouter`, which finds the handlers of a path without parameters once. It is built on first use: the routes of a resource are
 * only copied into the app.
 */
class Router<Handler> implements HonoRouter<Handler> {
  readonly name = "TrieRouter";
  readonly #routes: (readonly [method: string, path: string, handler: Handler])[] = [];
  #trie: TrieRouter<Handler> | undefined;
  /** What was found at each fixed path, by its methods. */
  readonly #found = new Map<string, Map<string, Result<Handler> | undefined>>();

  add(...route: [method: string, path: string, handler: Handler]): void {
    this.#routes.push(route);
    this.#trie = undefined;
  }

  match(method: string, path: string): Result<Handler> {
    this.#trie ??= this.#build();
    const found = this.#found.get(path);
    const known = found?.get(method);
    if (known !== undefined) return known;
    const result = this.#trie.match(method, path);
    if (found?.has(method)) found.set(method, result);
    return result;
  }

  #build(): TrieRouter<Handler> {
    const trie = new TrieRouter<Handler>();
    this.#found.clear();
    for (const [method, path, handler] of this.#routes) {
      trie.add(method, path, handler);
      if (!/[:*]/.test(path)) this.#found.set(path, (this.#found.get(path) ?? new Map()).set(method, undefined));
    }
    return trie;
  }
}

/**
 * Makes a Hono app with one router, which takes every path of the interface. `Hono` and `createFactory` would bring two more into the
 * bundle: 2 KiB of gzip.
 */
export const createRoutes = (options?: HonoOptions<AppEnv>) =>
  new HonoBase<AppEnv>({ router: new Router(), ...options });

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
  /** Whether what it stores counts against the budget of its key. */
  readonly budgeted?: true;
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

/** The same as `createHandlers`, for an operation whose last handler carries no facts yet. */
export const handlersOf = (operationId: string, facts: Omit<Facts, "operationId"> = {}) =>
  ((...handlers: unknown[]) => {
    withFacts(handlers.at(-1) as object, { operationId, ...facts });
    return handlers;
  }) as typeof createHandlers;
