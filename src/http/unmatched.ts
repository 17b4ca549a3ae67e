import type { Context, NotFoundHandler } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { App, AppEnv } from "../env.ts";
import { lazy } from "../lazy.ts";
import { authenticateRequest } from "./authentication.ts";
import { isPreflight, preflight } from "./cors.ts";
import { onError, respondWithError } from "./error-handler.ts";
import { noBody } from "./respond.ts";

/**
 * Handles a request that no route takes: CORS preflights, other methods of a known path, and unknown paths. Below `protectedPath`, a
 * caller without a key learns only that a key is needed. A path that is registered with `all` gets here with its other methods.
 */
export function unmatched(app: App, protectedPath: string): NotFoundHandler<AppEnv> {
  const respondToPreflight = lazy(() => preflight(operationMethods(app)));
  const methodsAt = lazy(() => methodRouter(app));

  const respond = async (c: Context<AppEnv>): Promise<Response> => {
    if (isPreflight(c)) return respondToPreflight()(c);
    if (`${c.req.path}/`.startsWith(`${protectedPath}/`)) {
      const key = await authenticateRequest(c);
      if (key instanceof Response) return key;
    }
    const methods = methodsAt()(c.req.path);
    if (methods === undefined || methods.includes(c.req.method))
      return respondWithError(c, { code: "not_found", message: "There is nothing at this path." });
    // Every path supports OPTIONS (RFC 9110, sections 9.3.7 and 15.5.6).
    const allow = [...methods, "OPTIONS"].join(", ");
    c.get("headers")["Allow"] = allow;
    if (c.req.method === "OPTIONS") return noBody(c, 204);
    return respondWithError(c, { code: "method_not_allowed", message: `This path supports ${allow} only.` });
  };
  // Hono would pass an error of this handler to `onError` past `lifecycle`, and the request would have no log line.
  return (c) => respond(c).catch((thrown: unknown) => onError(thrown, c));
}

/** The methods of all operations. */
function operationMethods(app: App): string[] {
  const methods = app.routes.map(({ method }) => method).filter((method) => method !== "ALL");
  return [...new Set([...methods, "HEAD"])].toSorted();
}

/**
 * Finds the methods of a path. If several routes match, the first registered path counts, as for a request. Hono's method-not-allowed
 * would join the methods of all of them.
 */
function methodRouter(app: App): (path: string) => string[] | undefined {
  const byPath = new Map<string, string[]>();
  for (const { method, path } of app.routes) {
    if (method === "ALL") continue;
    const methods = byPath.get(path) ?? [];
    byPath.set(path, methods.concat(method === "GET" ? ["GET", "HEAD"] : method));
  }
  const router = new TrieRouter<string[]>();
  for (const [path, methods] of byPath) router.add("ALL", path, [...new Set(methods)]);
  return (path) => router.match("ALL", path)[0][0]?.[0];
}
