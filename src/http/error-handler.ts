import type { Context } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { App, AppEnv } from "../env.ts";
import { type ApiError, type ErrorBody, type ErrorCode, ERRORS, toApiError } from "../errors.ts";
import { LOCAL_API_KEY } from "../local-api-key.ts";
import { logError } from "../log/log.ts";
import { json } from "./respond.ts";

/** For a developer who runs `wrangler dev` directly in a fresh clone. */
const LOCAL_HINT = "Local storage is not prepared: `npm run dev` applies the migrations and stores the local API key.";

/**
 * The only place that turns failures into responses. The guard returns one instead of throwing: creating an Error captures a
 * stack, and anybody without a key can cause a refusal.
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

/** Handles a path without a route. */
export function onNotFound(c: Context<AppEnv>): Response {
  return respondWithError(c, { code: "not_found", message: "There is nothing at this path." });
}

/**
 * Responds to OPTIONS, and to a method that the path does not support, with the methods of the path (RFC 9110, sections 9.3.7
 * and 15.5.6). Every path supports OPTIONS.
 */
export const methodsOf = (app: App) =>
  methodNotAllowed({
    app,
    onMethodNotAllowed(c: Context<AppEnv>, methods) {
      const allow = [...methods, "OPTIONS"].join(", ");
      c.get("headers")["Allow"] = allow;
      if (c.req.method === "OPTIONS") {
        // Not a failure: `onNotFound` ran only because the path has no route for this method.
        c.get("log").errorCode = undefined;
        delete c.get("headers")["Content-Type"];
        return new Response(null, { status: 204 });
      }
      return respondWithError(c, { code: "method_not_allowed", message: `This path supports ${allow} only.` });
    },
  });
