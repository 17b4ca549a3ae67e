import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { lazy } from "../lazy.ts";
import { addLink } from "./respond.ts";

export interface Deprecation {
  since: Date;
  sunset: Date;
  /** The path of the replacement. */
  successor: string;
  /** The path of the explanation. */
  documentation: string;
}

/**
 * Announces the removal of an operation in each of its responses. Place it before the guard, so that failures have the headers
 * too. `Deprecation` is RFC 9745, `Sunset` RFC 8594; the links are RFC 8288.
 */
export function deprecated(
  deprecation: Deprecation,
): MiddlewareHandler<AppEnv> & { readonly deprecation: Deprecation } {
  const announcement = lazy(() => {
    const { Link, ...headers } = deprecationHeaders(deprecation);
    return { Link, headers };
  });
  const middleware: MiddlewareHandler<AppEnv> = (c, next) => {
    const { Link, headers } = announcement();
    Object.assign(c.get("headers"), headers);
    addLink(c, Link);
    c.get("log").deprecated = true;
    return next();
  };
  return Object.assign(middleware, { deprecation });
}

/** The headers of a deprecated operation. */
export function deprecationHeaders({ since, sunset, successor, documentation }: Deprecation) {
  return {
    Deprecation: `@${since.getTime() / 1000}`,
    Sunset: sunset.toUTCString(),
    Link: `<${successor}>; rel="successor-version", <${documentation}>; rel="deprecation"`,
  };
}
