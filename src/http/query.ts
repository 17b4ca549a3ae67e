import { zValidator } from "@hono/zod-validator";
import type { Context, MiddlewareHandler } from "hono";
import { matchedRoutes } from "hono/route";
import * as z from "zod/mini";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { lazy } from "../lazy.ts";
import { KnownQueries } from "./known-queries.ts";
import { invalid, isList, type Validator } from "./validation.ts";

/** Maximum number of characters of a URL with a query. It bounds what decoding costs. */
export const MAX_URL_LENGTH = 4_096;

/** Maximum number of undeclared parameters in a message. */
const MAX_NAMES = 10;
/** The names that a message repeats. An API key is longer than any of them. */
const SHOWN_NAME = /^[A-Za-z0-9_.[\]-]{1,40}$/;
/** A parameter without a name, which Hono's parser drops. */
const NAMELESS = /^\?=|&=/;
/** The forms of a list beside `id=2&id=8`: a comma, or brackets. */
const OTHER_FORM = /[,[]|%2C|%5B/i;
/** `id`, `id[]` and `id[0]`. */
const LIST_NAME = /^(\w+)(?:\[\d{0,4}\])?$/;

/** A validator of the query, and the valid queries that it remembers. */
export interface QueryValidator<Schema extends z.ZodMiniObject> extends Validator<"query", Schema> {
  readonly known: KnownQueries<z.output<Schema>>;
}

/** What a request without a query says: every parameter may be omitted. So the first list of an isolate does not wait for a schema. */
const NOTHING = Object.freeze({});

/**
 * Validates the query of a request, which `guard` has bounded. A repeated parameter reaches its rule as an array. Handlers must not change
 * the output.
 *
 * @throws ApiError `invalid_request`
 */
export function query<Schema extends z.ZodMiniObject>(schema: () => Schema): QueryValidator<Schema> {
  const known = new KnownQueries<z.output<Schema>>();
  const declared = lazy(() => Object.keys(schema().shape));
  const lists = lazy(() => declared().filter((name) => isList(schema().shape[name])));
  /** @param inOtherForm the query, if it has lists in another form. */
  const validatorOf = (inOtherForm?: string) =>
    zValidator(
      "query",
      schema(),
      (result, c: Context) => {
        const text: AppEnv["Variables"]["query"] = c.get("query");
        const issues = result.success ? [] : result.error.issues;
        const undeclared = issues.flatMap((issue) => (issue.code === "unrecognized_keys" ? issue.keys : []));
        refuseUndeclared(undeclared, text, declared(), lists());
        // Hono would leave the escapes as they are, and a text is looked up byte for byte.
        if (text.includes("%") && !isDecodable(text))
          throw new ApiError("invalid_request", "The query has to be UTF-8, percent-encoded.");
        if (!result.success) throw invalid(issues);
        known.add(text, result.data);
      },
      {
        // Its type asks for the result of `zod`, which differs from that of `zod/mini` in the methods of an error.
        validationFunction: (rules, sent) =>
          rules.safeParse(inOtherForm === undefined ? sent : readLists(inOtherForm, lists())) as never,
      },
    );
  const validator = lazy(validatorOf);
  const middleware: MiddlewareHandler = (c, next) => {
    const text: AppEnv["Variables"]["query"] = c.get("query");
    const output = text === "" ? NOTHING : known.get(text);
    if (output === undefined) return (OTHER_FORM.test(text) ? validatorOf(text) : validator())(c, next);
    c.req.addValidatedData("query", output);
    return next();
  };
  return Object.assign(middleware, { target: "query" as const, schema, known });
}

/** The parameters of a query whose lists are in any form, with the values of each list in the order of the query. */
function readLists(text: string, lists: readonly string[]): { [name: string]: string | string[] } {
  const parameters = new Map<string, string[]>();
  for (const [written, value] of new URLSearchParams(text)) {
    const list = LIST_NAME.exec(written)?.[1] ?? "";
    const [name, values] = lists.includes(list) ? [list, value.split(",")] : [written, [value]];
    const all = parameters.get(name) ?? [];
    all.push(...values);
    parameters.set(name, all);
  }
  const entries = [...parameters].map(([name, values]) => [name, values.length === 1 ? values[0] : values] as const);
  return Object.fromEntries(entries) as { [name: string]: string | string[] };
}

function hasQuery(c: Context<AppEnv>): boolean {
  return matchedRoutes(c).some(
    ({ handler }) => (handler as Partial<QueryValidator<z.ZodMiniObject>>).target === "query",
  );
}

/**
 * Reads and bounds the query. An operation without one takes no parameters.
 *
 * @throws ApiError `invalid_request`
 */
export function readQuery(c: Context<AppEnv>): void {
  const { url } = c.req;
  const start = url.indexOf("?");
  // A request has no fragment.
  const text = start === -1 ? "" : url.slice(start);
  c.set("query", text);
  if (text === "") return;
  if (url.length > MAX_URL_LENGTH)
    throw new ApiError("invalid_request", `The address has to be at most ${MAX_URL_LENGTH} characters.`);
  if (!hasQuery(c)) refuseUndeclared(Object.keys(c.req.queries()), text);
}

function isDecodable(search: string): boolean {
  try {
    decodeURIComponent(search);
    return true;
  } catch {
    return false;
  }
}

/**
 * Refuses parameters that the operation does not declare. If they were ignored, a misspelt filter would return everything, and
 * `DELETE ...?dryRun=true` would delete.
 *
 * @throws ApiError `invalid_request`
 */
function refuseUndeclared(
  names: string[],
  text: string,
  declared: readonly string[] = [],
  lists: readonly string[] = [],
): void {
  const undeclared = NAMELESS.test(text) ? [...names, ""] : names;
  if (undeclared.length === 0) return;
  const entries = new Map<string, string>();
  for (const name of undeclared) {
    const base = declared.find((one) => name.startsWith(`${one}[`));
    if (!SHOWN_NAME.test(name)) entries.set("", "a query parameter is unknown");
    else if (base === undefined) entries.set(name, `${name} is unknown`);
    else if (lists.includes(base)) entries.set(name, `${name} has to be ${base}, ${base}[] or ${base}[0]`);
    else entries.set(name, `${name} has to be ${base}, without brackets`);
  }
  const more = entries.size > MAX_NAMES ? `; and ${entries.size - MAX_NAMES} more` : "";
  const takes = declared.length === 0 ? "no query parameters" : `the query parameters ${declared.join(", ")}`;
  const message = `${[...entries.values()].slice(0, MAX_NAMES).join("; ")}${more}. This operation takes ${takes}.`;
  throw new ApiError("invalid_request", message);
}
