import type { Context, Hono } from "hono";
import { methodNotAllowed } from "hono/method-not-allowed";
import type { AppEnv } from "../env.ts";
import { ApiError, toApiError } from "../errors.ts";
import { LOCAL_API_KEY } from "../local-api-key.ts";
import { logError } from "./request-log.ts";
import { json } from "./respond.ts";

/** What somebody who started `wrangler dev` by hand, in a fresh clone, has to know. */
const LOCAL_HINT = "Local storage is not prepared: `npm run dev` applies the migrations and stores the local API key.";

/** The one place where failures become responses. */
function respondWithError(c: Context<AppEnv>, error: ApiError): Response {
  c.get("log").errorCode = error.code;
  return json(c, error.body, error.status, error.headers);
}

/** Whatever a handler or a middleware throws. */
export function onError(thrown: unknown, c: Context<AppEnv>): Response {
  const error = toApiError(thrown);
  if (error.cause !== undefined) logError(c, error.cause);
  if (c.env.ENVIRONMENT === "local" && showsUnpreparedStorage(c, error)) console.warn(LOCAL_HINT);
  return respondWithError(c, error);
}

/** KV does not know the key that every prepared storage knows, or D1 has no tables. */
function showsUnpreparedStorage(c: Context<AppEnv>, { code, cause }: ApiError): boolean {
  if (code === "unauthorized") return c.req.header("Authorization")?.endsWith(` ${LOCAL_API_KEY}`) ?? false;
  return cause instanceof Error && cause.message.includes("no such table");
}

/** Whatever no route answers: 405 where another method would have been answered, else 404. */
export function onNotFound(app: Hono<AppEnv>): (c: Context<AppEnv>) => Promise<Response> {
  // Preflights are answered on every path, known or not, so they say nothing about what a path knows.
  const operations = {
    get routes() {
      return app.routes.filter(({ method }) => method !== "OPTIONS");
    },
  };
  const checkMethod = methodNotAllowed({
    app: operations as Hono<AppEnv>,
    onMethodNotAllowed(c: Context<AppEnv>, methods) {
      const allow = methods.join(", ");
      // RFC 9110, section 15.5.6: the answer lists the methods that the path knows.
      const options = { headers: { Allow: allow } };
      return respondWithError(c, new ApiError("method_not_allowed", `This path answers ${allow} only.`, options));
    },
  });
  return async (c) => {
    // Hono's middleware, called where it is needed, so that no other request goes through it.
    await checkMethod(c, async () => {
      c.res = respondWithError(c, new ApiError("not_found", "There is nothing at this path."));
    });
    return c.res;
  };
}
