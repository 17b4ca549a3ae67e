import type { MiddlewareHandler } from "hono";

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
}): MiddlewareHandler {
  const deprecation = `@${options.since.getTime() / 1000}`;
  const sunset = options.sunset.toUTCString();
  const link = `<${options.successor}>; rel="successor-version", <${options.documentation}>; rel="deprecation"`;
  return async (c, next) => {
    c.header("Deprecation", deprecation);
    c.header("Sunset", sunset);
    c.header("Link", link);
    await next();
  };
}
