import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { logRequest, startLog } from "../log/log.ts";
import { completeResponse, startHeaders } from "./respond.ts";

/** The middleware of every request: its id, the headers of every response, and the log line. */
export const lifecycle: MiddlewareHandler<AppEnv> = async (c, next) => {
  const start = Date.now();
  const { requestId } = startLog(c);
  startHeaders(c, requestId);
  await next();
  completeResponse(c);
  if (!c.get("isDelegated")) logRequest(c, start);
};
