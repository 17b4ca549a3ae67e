import type { createFactory } from "hono/factory";
import { HonoBase, type HonoOptions } from "hono/hono-base";
import type { Params, Result, Router as HonoRouter } from "hono/router";
import { TrieRouter } from "hono/router/trie-router";
import type { AppEnv } from "./env.ts";

/** A path whose last part is its one parameter. */
const ENDS_WITH_PARAMETER = /^([^:*]*\/):(\w+)$/;
/** A value of which the trie knows nothing: it takes `:petId` and `*` for parts of its own. */
const PLAIN = /^-?\w+$/;

/** What was found at a path, by its methods. */
type Found<Handler> = Map<string, Result<Handler> | undefined>;

/**
 * Hono's `TrieRouter`, which finds the handlers of a path once, also for all values of a last parameter. With a search for each request, the
 * code of a get takes 1.15 times the CPU (medians of 60 paired rounds in Node.js 24.21.0, without workerd and D1: 1.16 and 1.14). It is built on
 * first use: the routes of a resource are only copied into the app.
 */
export class Router<Handler> implements HonoRouter<Handler> {
  readonly name = "TrieRouter";
  readonly #routes: (readonly [method: string, path: string, handler: Handler])[] = [];
  #trie: TrieRouter<Handler> | undefined;
  readonly #fixed = new Map<string, Found<Handler>>();
  /** By the path before the parameter. */
  readonly #named = new Map<string, { parameter: string; found: Found<Handler> }>();

  add(...route: [method: string, path: string, handler: Handler]): void {
    this.#routes.push(route);
    this.#trie = undefined;
  }

  match(method: string, path: string): Result<Handler> {
    const trie = (this.#trie ??= this.#build());
    const fixed = this.#fixed.get(path);
    if (fixed !== undefined) return find(trie, fixed, method, path);
    const end = path.lastIndexOf("/") + 1;
    const named = this.#named.get(path.slice(0, end));
    const value = path.slice(end);
    if (named === undefined || !PLAIN.test(value)) return trie.match(method, path);
    const [handlers] = find(trie, named.found, method, path) as [[Handler, Params][]];
    const { parameter } = named;
    return [handlers.map(([handler, params]) => [handler, parameter in params ? { [parameter]: value } : params])];
  }

  #build(): TrieRouter<Handler> {
    const trie = new TrieRouter<Handler>();
    this.#fixed.clear();
    this.#named.clear();
    for (const [method, path, handler] of this.#routes) {
      trie.add(method, path, handler);
      const [, before = "", parameter] = ENDS_WITH_PARAMETER.exec(path) ?? [];
      if (parameter !== undefined) {
        const named = this.#named.get(before) ?? { parameter, found: new Map() };
        if (named.parameter !== parameter) throw new Error(`The parameter of ${path} has two names`);
        named.found.set(method, undefined);
        this.#named.set(before, named);
      } else if (!/[:*]/.test(path)) {
        this.#fixed.set(path, (this.#fixed.get(path) ?? new Map()).set(method, undefined));
      }
    }
    return trie;
  }
}

/** Searches the routes of a method once, unless the path has none of it. */
function find<Handler>(trie: TrieRouter<Handler>, found: Found<Handler>, method: string, path: string) {
  const known = found.get(method);
  if (known !== undefined) return known;
  const result = trie.match(method, path);
  if (found.has(method)) found.set(method, result);
  return result;
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
