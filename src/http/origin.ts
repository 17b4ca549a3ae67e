import type { Context, MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";

const LOOPBACK = /^https?:\/\/(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/;

/**
 * Whether a request is from a page of another origin. A page may reach a service on this machine, also under a name of its own (DNS
 * rebinding), and the key of local development is public. The `Host` of its requests is then also its own, so it is not compared.
 */
export function isFromForeignPage(c: Context<AppEnv>): boolean {
  const origin = c.req.header("Origin");
  return origin !== undefined && !LOOPBACK.test(origin) && !originsOf(c.env).includes(origin);
}

/** @throws ApiError `origin_not_allowed` */
export const allowedOrigin: MiddlewareHandler<AppEnv> = (c, next) => {
  if (isFromForeignPage(c)) throw new ApiError("origin_not_allowed", "Pages of this origin may not use /mcp.");
  return next();
};

const originsOf = ({ MCP_ORIGINS = "" }: { MCP_ORIGINS?: string }) =>
  MCP_ORIGINS.split(/[\s,]+/).filter((origin) => origin !== "");
