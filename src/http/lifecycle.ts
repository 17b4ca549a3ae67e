import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { logRequest, startLog } from "../log/log.ts";
import { completeResponse, startHeaders } from "./respond.ts";

/** What every request passes on its way in and out: its id, the headers that every response has, and its line in the log. */
export const lifecycle: MiddlewareHandler<AppEnv> = async (c, next) => {
  const start = Date.now();
  const { requestId } = startLog(c);
  startHeaders(c, requestId);
  await next();
  completeResponse(c);
  logRequest(c, start);
};
