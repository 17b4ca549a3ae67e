import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Refuses requests from pages of other origins. A page may reach a service on this machine under a name of its own (DNS rebinding), and
 * the key of local development is public. The `Host` of its requests is then also its own, so it is not compared.
 *
 * @throws ApiError `origin_not_allowed`
 */
export const allowedOrigin: MiddlewareHandler<AppEnv> = (c, next) => {
  const origin = c.req.header("Origin");
  if (origin !== undefined && !LOOPBACK.test(origin) && !originsOf(c.env).includes(origin))
    throw new ApiError("origin_not_allowed", "Pages of this origin may not use /mcp.");
  return next();
};

const originsOf = ({ MCP_ORIGINS = "" }: { MCP_ORIGINS?: string }) =>
  MCP_ORIGINS.split(/[\s,]+/).filter((origin) => origin !== "");
