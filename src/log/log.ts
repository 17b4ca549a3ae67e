import type { Context } from "hono";
import { routePath } from "hono/route";
import type { AppEnv, RequestLog } from "../env.ts";
import { logFailure } from "./failure.ts";
import { weightOf } from "./share.ts";
import { parseTraceParent, type TraceParent } from "./trace-parent.ts";

/** The log line of a request. docs/observability.md describes each field. A field without a value is omitted. */
export interface RequestLine extends Required<RequestLog> {
  level: "info";
  method: string;
  route: string;
  status: number;
  duration: number;
  weight: number;
  deployment: string | undefined;
  colo: unknown;
  country: unknown;
  traceId: TraceParent["traceId"] | undefined;
  parentSpanId: TraceParent["parentSpanId"] | undefined;
  d1Duration: number | undefined;
  d1RowsRead: number | undefined;
  d1RowsWritten: number | undefined;
  d1Region: string | undefined;
  d1Primary: boolean | undefined;
  d1Repeated: true | undefined;
  d1Slow: string | undefined;
}

/** Begins the log line of a request. */
export function startLog(c: Context<AppEnv>): RequestLog {
  // Always a new id: a client could send its key as the id, and the key would appear in the log.
  const log: RequestLog = { requestId: crypto.randomUUID(), agent: c.env.AGENT };
  c.set("log", log);
  return log;
}

/**
 * Logs the line of a request, which Workers Logs indexes by field. Successes are sampled at the share that the operator sets.
 *
 * @param start when the request arrived, in milliseconds since the epoch.
 */
export function logRequest(c: Context<AppEnv>, start: number): void {
  const { status } = c.res;
  const weight = weightOf(status, c.env.LOG_SUCCESS_SHARE);
  if (weight === undefined) return;
  const { cf } = c.req.raw;
  const header = c.req.header("traceparent");
  const trace = header === undefined ? undefined : parseTraceParent(header);
  const log = c.get("log");
  const database = c.get("database");
  // One literal: to copy parts into it takes half as much CPU again.
  const line: RequestLine = {
    level: "info",
    requestId: log.requestId,
    method: c.req.method,
    // The pattern of the last handler. A raw path would log text from the caller.
    route: routePath(c),
    status,
    // Milliseconds. The clock of a Worker advances only with I/O, so this is time spent waiting (Workers docs).
    duration: Date.now() - start,
    weight,
    // The request must not fail in a configuration without this binding.
    deployment: c.env.VERSION?.id,
    colo: cf?.["colo"],
    country: cf?.["country"],
    traceId: trace?.traceId,
    parentSpanId: trace?.parentSpanId,
    keyId: log.keyId,
    tokenId: log.tokenId,
    errorCode: log.errorCode,
    bookmark: log.bookmark,
    deprecated: log.deprecated,
    cached: log.cached,
    agent: log.agent,
    // Milliseconds that D1 spent on SQL, and the rows that it counted.
    d1Duration: database?.duration,
    d1RowsRead: database?.rowsRead,
    d1RowsWritten: database?.rowsWritten,
    d1Region: database?.region,
    d1Primary: database?.primary,
    d1Repeated: database?.repeated,
    d1Slow: database?.slow?.join(),
  };
  console.log(JSON.stringify(line));
}

/** Logs the cause of a failure of a request. */
export const logError = (c: Context<AppEnv>, error: unknown): void =>
  logFailure({ requestId: c.get("log").requestId }, error);
