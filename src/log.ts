import type { Context } from "hono";
import { routePath } from "hono/route";
import type { AppEnv, RequestLog } from "./env.ts";

/** Begins the log line of a request. */
export function startLog(c: Context<AppEnv>): RequestLog {
  // Always our own id: a client could send its key as one, and it would stand in the log.
  const log: RequestLog = { requestId: crypto.randomUUID() };
  c.set("log", log);
  return log;
}

/**
 * Logs the one line of a request, which Workers Logs indexes by field.
 *
 * @param start when the request came, in milliseconds since the epoch.
 */
export function logRequest(c: Context<AppEnv>, start: number): void {
  const { cf } = c.req.raw;
  const database = c.get("database");
  const { requestId, ...facts } = c.get("log");
  console.log(
    JSON.stringify({
      level: "info",
      requestId,
      method: c.req.method,
      // The pattern of the handler that ran last: raw paths would carry the text that callers put into them.
      route: routePath(c),
      status: c.res.status,
      // Milliseconds. The clock of a Worker stands still between I/O, so this is time spent waiting (Workers docs).
      duration: Date.now() - start,
      colo: cf?.["colo"],
      country: cf?.["country"],
      ...facts,
      // Milliseconds that D1 spent on SQL, and the rows that it counts.
      d1Duration: database?.duration,
      d1RowsRead: database?.duration === undefined ? undefined : database.rowsRead,
      d1RowsWritten: database?.duration === undefined ? undefined : database.rowsWritten,
    }),
  );
}

/** Logs the cause of a failure. D1 is asked without drizzle, whose errors would carry bound parameters; D1's messages name tables and columns at most. */
export function logError(c: Context<AppEnv>, error: unknown): void {
  const { name, message, stack } = error instanceof Error ? error : new Error(String(error));
  console.error(JSON.stringify({ level: "error", requestId: c.get("log").requestId, name, message, stack }));
}
