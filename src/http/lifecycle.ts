import type { MiddlewareHandler } from "hono";
import type { AppEnv } from "../env.ts";
import { logRequest, startLog } from "../log/log.ts";
import { linger, unreadBody } from "./lingering-close.ts";
import { completeResponse, startHeaders } from "./respond.ts";

/** The middleware of every request: its id, the headers of every response, the log line, and the lingering close. */
export const lifecycle: MiddlewareHandler<AppEnv> = async (c, next) => {
  const start = Date.now();
  const { requestId } = startLog(c);
  startHeaders(c, requestId);
  await next();
  completeResponse(c);
  if (!c.get("isDelegated")) logRequest(c, start);
  const body = unreadBody(c);
  if (body !== null) await linger(body);
};
