import { zValidator } from "@hono/zod-validator";
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import type * as z from "zod/mini";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { lazy } from "../lazy.ts";
import { KnownQueries } from "./known-queries.ts";
import { invalid, type Validator } from "./validation.ts";

/** Maximum number of characters of a URL with a query. Decoding a longer query would cost more than the rest of the request. */
export const MAX_URL_LENGTH = 4_096;

/** Maximum number of undeclared parameters in a message. */
const MAX_NAMES = 10;
/** The names that a message repeats. An API key is longer than any of them. */
const SHOWN_NAME = /^[A-Za-z0-9_.[\]-]{1,40}$/;
/** A parameter without a name, which Hono's parser drops. */
const NAMELESS = /^\?=|&=/;

/** A validator of the query, and the valid queries that it remembers. */
export interface QueryValidator<Schema extends z.ZodMiniObject> extends Validator<"query", Schema> {
  readonly known: KnownQueries<z.output<Schema>>;
}

/**
 * Validates the query of a request. A repeated parameter reaches its rule as an array. `guard` has refused parameters that the schema
 * does not have. Handlers must not change the output.
 *
 * @throws ApiError `invalid_request`
 */
export function query<Schema extends z.ZodMiniObject>(schema: () => Schema): QueryValidator<Schema> {
  const known = new KnownQueries<z.output<Schema>>();
  const validator = lazy(() =>
    zValidator("query", schema(), (result, c) => {
      if (!result.success) throw invalid(result.error.issues);
      known.add(textOf(c.req.url), result.data);
    }),
  );
  const middleware: MiddlewareHandler = (c, next) => {
    const output = known.get(textOf(c.req.url));
    if (output === undefined) return validator()(c, next);
    c.req.addValidatedData("query", output);
    return next();
  };
  return Object.assign(middleware, { target: "query" as const, schema, known }) as QueryValidator<Schema>;
}

/** The query of a URL with its question mark, or nothing. A request has no fragment. */
function textOf(url: string): string {
  const start = url.indexOf("?");
  return start === -1 ? "" : url.slice(start);
}

/** The validator of the operation's query. An operation without one takes no parameters. */
function validatorOf(c: Context<AppEnv>): QueryValidator<z.ZodMiniObject> | undefined {
  for (const { handler } of matchedRoutes(c)) {
    const validator = handler as Partial<QueryValidator<z.ZodMiniObject>>;
    if (validator.target === "query") return validator as QueryValidator<z.ZodMiniObject>;
  }
  return undefined;
}

/**
 * Refuses query parameters that the operation does not declare. If they were ignored, a misspelt filter would return everything, and
 * `DELETE ...?dryRun=true` would delete.
 *
 * @throws ApiError `invalid_request`, also when the URL is too long.
 */
export function refuseUndeclaredParameters(c: Context<AppEnv>): void {
  const { url } = c.req;
  const text = textOf(url);
  if (text === "") return;
  if (url.length > MAX_URL_LENGTH)
    throw new ApiError("invalid_request", `The address has to be at most ${MAX_URL_LENGTH} characters.`);
  const validator = validatorOf(c);
  if (validator?.known.has(text)) return;
  const declared = validator === undefined ? [] : Object.keys(validator.schema().shape);
  const undeclared = Object.keys(c.req.queries()).filter((name) => !declared.includes(name));
  if (NAMELESS.test(text)) undeclared.push("");
  if (undeclared.length > 0) throw undeclaredParameters(undeclared, declared);
  // Hono would leave the escapes as they are, and a text is looked up byte for byte.
  if (!isDecodable(text)) throw new ApiError("invalid_request", "The query has to be UTF-8, percent-encoded.");
}

function isDecodable(search: string): boolean {
  try {
    decodeURIComponent(search);
    return true;
  } catch {
    return false;
  }
}

function undeclaredParameters(undeclared: string[], declared: string[]): ApiError {
  const entries = new Map<string, string>();
  for (const name of undeclared) {
    const base = declared.find((one) => name.startsWith(`${one}[`));
    if (!SHOWN_NAME.test(name)) entries.set("", "a query parameter is unknown");
    else if (base === undefined) entries.set(name, `${name} is unknown`);
    // Many libraries write a list as `id[]=2&id[]=8` or `id[0]=2&id[1]=8`.
    else entries.set(base, `${base}[] has to be ${base}, without brackets (a list repeats its parameter: id=2&id=8)`);
  }
  const more = entries.size > MAX_NAMES ? `; and ${entries.size - MAX_NAMES} more` : "";
  const takes = declared.length === 0 ? "no query parameters" : `the query parameters ${declared.join(", ")}`;
  const message = `${[...entries.values()].slice(0, MAX_NAMES).join("; ")}${more}. This operation takes ${takes}.`;
  return new ApiError("invalid_request", message);
}
