import type { Context, NotFoundHandler } from "hono";
import { TrieRouter } from "hono/router/trie-router";
import type { App, AppEnv } from "../env.ts";
import { lazy } from "../lazy.ts";
import { authenticateRequest } from "./authentication.ts";
import { acceptHeader } from "./body.ts";
import { isPreflight, preflightHeaders } from "./cors.ts";
import { onError, respondWithError } from "./error-handler.ts";
import { noBody } from "./respond.ts";

/**
 * Where clients of `/mcp` look for a sign-in after a 401 (RFC 8414, RFC 9728, OpenID Connect Discovery, and the paths that revision
 * 2025-03-26 of the protocol gives without any metadata).
 */
const SIGN_IN =
  /^(?:\/mcp)?\/\.well-known\/(?:oauth-[\w-]+|openid-configuration)(?:\/[\w/]*)?$|^\/(?:authorize|register|token)$/;

/**
 * Handles a request that no route takes: CORS preflights, other methods of a known path, and unknown paths. At and below `protectedPaths`,
 * a caller without a key learns only that a key is needed. The operations are below the first of them. A path that is registered with `all` gets here with its other methods.
 */
export function unmatched(app: App, ...protectedPaths: [string, ...string[]]): NotFoundHandler<AppEnv> {
  const ofPreflight = lazy(() => preflightHeaders(operationMethods(app)));
  const routesAt = lazy(() => routeFinder(app));

  const respond = async (c: Context<AppEnv>): Promise<Response> => {
    if (isPreflight(c)) {
      Object.assign(c.get("headers"), ofPreflight());
      return noBody(c, 204);
    }
    if (SIGN_IN.test(c.req.path))
      return respondWithError(c, {
        code: "not_found",
        message: "There is no sign-in (OAuth) here: check the API key.",
      });
    const isProtected = protectedPaths.some((path) => `${c.req.path}/`.startsWith(`${path}/`));
    if (isProtected) {
      const key = await authenticateRequest(c);
      if (key instanceof Response) return key;
    }
    const routes = routesAt()(c.req.path);
    if (routes?.methods.has(c.req.method) !== false) {
      const place = isProtected ? "" : ` The operations are below ${protectedPaths[0]}.`;
      return respondWithError(c, { code: "not_found", message: `There is nothing at this path.${place}` });
    }
    // Every path supports OPTIONS (RFC 9110, sections 9.3.7 and 15.5.6).
    const allow = [...routes.methods, "OPTIONS"].join(", ");
    c.get("headers")["Allow"] = allow;
    if (c.req.method === "OPTIONS") {
      Object.assign(c.get("headers"), routes.accepted);
      return noBody(c, 204);
    }
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

interface Routes {
  methods: Set<string>;
  /** The headers with the media types of each method. */
  accepted: Record<string, string>;
}

/**
 * Finds the routes of a path. If several match, the first registered path counts, as for a request. Hono's method-not-allowed would join
 * the methods of all of them.
 */
function routeFinder(app: App): (path: string) => Routes | undefined {
  const byPath = new Map<string, Routes>();
  for (const { method, path, handler } of app.routes) {
    if (method === "ALL") continue;
    const routes: Routes = byPath.get(path) ?? { methods: new Set<string>(), accepted: {} };
    byPath.set(path, routes);
    routes.methods.add(method);
    if (method === "GET") routes.methods.add("HEAD");
    const { mediaTypes } = handler as { mediaTypes?: readonly string[] };
    if (mediaTypes !== undefined) routes.accepted[acceptHeader(method)] = mediaTypes.join(", ");
  }
  const router = new TrieRouter<Routes>();
  for (const [path, routes] of byPath) router.add("ALL", path, routes);
  return (path) => router.match("ALL", path)[0][0]?.[0];
}
