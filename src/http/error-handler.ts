import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { type ApiError, type ErrorBody, type ErrorCode, ERRORS, toApiError } from "../errors.ts";
import { LOCAL_API_KEY } from "../local-api-key.ts";
import { logError } from "../log/log.ts";
import { json } from "./respond.ts";

/** For a developer who runs `wrangler dev` directly in a fresh clone. */
const LOCAL_HINT = "Local storage is not prepared: start with `npm run dev`.";

/**
 * The only place that turns failures into responses. The guard returns one instead of throwing: creating an Error captures a
 * stack, and anybody without a key can cause a refusal.
 */
export function respondWithError(
  c: Context<AppEnv>,
  { code, message, retryAfter }: { code: ErrorCode; message: string; retryAfter?: number | undefined },
): Response {
  if (c.env.ENVIRONMENT === "local" && code === "unauthorized" && carriesLocalKey(c)) console.warn(LOCAL_HINT);
  const { status } = ERRORS[code];
  c.get("log").errorCode = code;
  const headers = c.get("headers");
  // Nothing came of the other fields either.
  delete headers["Ignored-Fields"];
  if (retryAfter !== undefined) headers["Retry-After"] = String(retryAfter);
  return json<ErrorBody, typeof status>(c, { code, message, status }, status);
}

/** Handles an error that a handler or a middleware throws. */
export function onError(thrown: unknown, c: Context<AppEnv>): Response {
  const error = toApiError(thrown);
  if (error.cause !== undefined) logError(c, error.cause);
  if (c.env.ENVIRONMENT === "local" && tellsOfMissingTable(error)) console.warn(LOCAL_HINT);
  return respondWithError(c, error);
}

/** Every prepared storage contains this key, so its refusal means that KV is not prepared. */
function carriesLocalKey(c: Context<AppEnv>): boolean {
  return c.req.header("Authorization")?.endsWith(` ${LOCAL_API_KEY}`) ?? false;
}

function tellsOfMissingTable({ cause }: ApiError): boolean {
  return cause instanceof Error && cause.message.includes("no such table");
}
