import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";

/**
 * Announces that an operation will go, on every answer of it, failures included: place it before whatever can fail.
 * `Deprecation` is RFC 9745, `Sunset` RFC 8594; the links are RFC 8288.
 *
 * @param successor the path that replaces the operation.
 * @param documentation the path that explains it.
 */
export function deprecated(options: {
  since: Date;
  sunset: Date;
  successor: string;
  documentation: string;
}): MiddlewareHandler<AppEnv> {
  const Deprecation = `@${options.since.getTime() / 1000}`;
  const Sunset = options.sunset.toUTCString();
  const Link = `<${options.successor}>; rel="successor-version", <${options.documentation}>; rel="deprecation"`;
  return async (c, next) => {
    Object.assign(c.get("headers"), { Deprecation, Sunset, Link });
    await next();
  };
}
