import type { Context } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { App, AppEnv } from "../env.ts";
import { type ApiError, type ErrorBody, type ErrorCode, ERRORS, toApiError } from "../errors.ts";
import { LOCAL_API_KEY } from "../local-api-key.ts";
import { logError } from "../log/log.ts";
import { json } from "./respond.ts";

/** What somebody who started `wrangler dev` by hand, in a fresh clone, has to know. */
const LOCAL_HINT = "Local storage is not prepared: `npm run dev` applies the migrations and stores the local API key.";

/**
 * The one place where failures become responses. The guard returns one instead of throwing: an Error takes a stack, which nobody
 * reads, and anybody can cause a refusal without a key.
 */
export function respondWithError(
  c: Context<AppEnv>,
  { code, message }: { code: ErrorCode; message: string },
): Response {
  if (c.env.ENVIRONMENT === "local" && code === "unauthorized" && carriesLocalKey(c)) console.warn(LOCAL_HINT);
  const { status, ...rule } = ERRORS[code];
  c.get("log").errorCode = code;
  if ("retryAfter" in rule) c.get("headers")["Retry-After"] = String(rule.retryAfter);
  return json<ErrorBody, typeof status>(c, { code, message, status }, status);
}

/** For an error that a handler or a middleware throws. */
export function onError(thrown: unknown, c: Context<AppEnv>): Response {
  const error = toApiError(thrown);
  if (error.cause !== undefined) logError(c, error.cause);
  if (c.env.ENVIRONMENT === "local" && tellsOfMissingTable(error)) console.warn(LOCAL_HINT);
  return respondWithError(c, error);
}

/** Every prepared storage knows this key, so a refusal of it tells that KV is not prepared. */
function carriesLocalKey(c: Context<AppEnv>): boolean {
  return c.req.header("Authorization")?.endsWith(` ${LOCAL_API_KEY}`) ?? false;
}

function tellsOfMissingTable({ cause }: ApiError): boolean {
  return cause instanceof Error && cause.message.includes("no such table");
}

/** For a path that no route knows. */
export function onNotFound(c: Context<AppEnv>): Response {
  return respondWithError(c, { code: "not_found", message: "There is nothing at this path." });
}

/**
 * Tells the methods of a path (RFC 9110, sections 9.3.7 and 15.5.6): to OPTIONS, and to a method that the path does not support. Every
 * path supports OPTIONS.
 */
export const methodsOf = (app: App) =>
  methodNotAllowed({
    app,
    onMethodNotAllowed(c: Context<AppEnv>, methods) {
      const allow = [...methods, "OPTIONS"].join(", ");
      c.get("headers")["Allow"] = allow;
      if (c.req.method === "OPTIONS") {
        // Nothing failed: `onNotFound` only did not know the path with this method.
        c.get("log").errorCode = undefined;
        delete c.get("headers")["Content-Type"];
        return new Response(null, { status: 204 });
      }
      return respondWithError(c, { code: "method_not_allowed", message: `This path supports ${allow} only.` });
    },
  });
