import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { ApiError, toApiError } from "../errors.ts";
import { logError } from "./request-log.ts";

/** What somebody who started `wrangler dev` by hand, in a fresh clone, has to know. */
const LOCAL_HINT =
  "Is local storage prepared? `npm run dev` applies the migrations and seeds the API key of the README.";

/** The one place where failures become responses. */
function respondWithError(c: Context<AppEnv>, error: ApiError): Response {
  c.get("log").errorCode = error.code;
  return c.json(error.body, error.status, error.headers);
}

/** Whatever a handler or a middleware throws. */
export function onError(thrown: unknown, c: Context<AppEnv>): Response {
  const error = toApiError(thrown);
  if (error.cause !== undefined) logError(c, error.cause);
  if (c.env.ENVIRONMENT === "local" && (error.code === "unauthorized" || error.code === "service_unavailable")) {
    console.warn(LOCAL_HINT);
  }
  return respondWithError(c, error);
}

export function onNotFound(c: Context<AppEnv>): Response {
  return respondWithError(c, new ApiError("not_found", "There is nothing at this path."));
}

/** RFC 9110, section 15.5.6: the answer lists the methods that the path knows. */
export function onMethodNotAllowed(c: Context<AppEnv>, methods: string[]): Response {
  const allow = methods.join(", ");
  return respondWithError(
    c,
    new ApiError("method_not_allowed", `This path answers ${allow} only.`, { headers: { Allow: allow } }),
  );
}
