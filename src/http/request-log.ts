import type { Context, MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import type { AppEnv } from "../env.ts";
import type { ErrorCode } from "../errors.ts";
import { startHeaders } from "./respond.ts";

/**
 * What a request's one log line tells beside its id, method, route, status and duration. No field ever holds a key, a
 * body, a raw path or a bound parameter.
 */
export interface RequestLog {
  /** The id of the API key, never the key. */
  keyId?: string;
  errorCode?: ErrorCode;
  /** Whether the caller sent a bookmark. */
  bookmark?: boolean;
  /** Milliseconds that D1 spent on SQL. */
  d1Duration?: number;
  d1RowsRead?: number;
  d1RowsWritten?: number;
}

/** Gives each request its id, and logs one structured line for it, which Workers Logs indexes by field. */
export const requestLog: MiddlewareHandler<AppEnv> = async (c, next) => {
  const start = Date.now();
  // Always our own: what a client sends as an id could be anything, its key for one, and would stand in the log.
  const requestId = crypto.randomUUID();
  c.set("requestId", requestId);
  c.set("headers", startHeaders(requestId));
  const log: RequestLog = {};
  c.set("log", log);
  await next();
  const { cf } = c.req.raw;
  console.log(
    JSON.stringify({
      level: "info",
      requestId,
      method: c.req.method,
      // The pattern of the handler that ran last: raw paths would carry what callers put into them.
      route: routePath(c),
      status: c.res.status,
      // Milliseconds. The clock of a Worker stands still between I/O, so this is time spent waiting (Workers docs).
      duration: Date.now() - start,
      colo: cf?.["colo"],
      country: cf?.["country"],
      ...log,
    }),
  );
};

/**
 * Logs what went wrong behind an answer. Drizzle's own errors would carry bound parameters; D1 is asked without drizzle, and
 * its messages name tables and columns at most.
 */
export function logError(c: Context<AppEnv>, error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  console.error(JSON.stringify({ level: "error", requestId: c.get("requestId"), name, message, stack }));
}
