import type { MiddlewareHandler } from "hono";
import * as z from "zod/mini";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";
import { isFromFloat, toInt64 } from "../exact/json.ts";
import { isText } from "../exact/text.ts";
import { shifted, toTimestamp } from "../exact/timestamp.ts";
import { isName, MAX_NAME_CHARACTERS } from "../name.ts";

/** A validator. Clients send the input type of its schema, and the handler gets the output type. */
export type Validator<Target extends string, Schema extends z.ZodMiniType> = MiddlewareHandler<
  AppEnv,
  string,
  { in: { [Key in Target]: z.input<Schema> }; out: { [Key in Target]: z.output<Schema> } }
> & { readonly target: Target; readonly schema: () => Schema };

/** Maximum number of characters of a message. The document publishes it. */
export const MAX_MESSAGE_LENGTH = 2_000;

/**
 * The failure of a validation. Its message lists the invalid fields, each with its rule, which is the `error` of the field's schema. The
 * items of an array that break one rule share an entry, with their places, counted from 0.
 */
export function invalid(issues: readonly z.core.$ZodIssue[]): ApiError {
  const places = new Map<string, Set<number>>();
  for (const { path, message } of issues) {
    const [place] = path;
    const entry =
      typeof place === "number"
        ? `${path.slice(1).join(".") || "the item"} ${message}`
        : `${path.join(".") || "The request body"} ${message}`;
    const known = places.get(entry) ?? new Set();
    places.set(entry, typeof place === "number" ? known.add(place) : known);
  }
  const entries = [...places].map(([entry, known]) =>
    known.size === 0 ? entry : `${[...known].join(", ")}: ${entry}`,
  );
  // A client that corrects what it lists gets the rest.
  const message = entries.reduce((all, entry) =>
    all.length + entry.length + "; .".length > MAX_MESSAGE_LENGTH ? all : `${all}; ${entry}`,
  );
  return new ApiError("invalid_request", `${message}.`);
}

/** The error of a field: its rule, from which a client can correct the request. */
export function rule(text: string) {
  return {
    error: ({ input }: { input?: unknown }) => `${input === undefined ? "is required:" : "has to be"} ${text}`,
  };
}

/** The rule of a query parameter that takes one value. A repeated parameter arrives as an array. */
export function parameterRule(text: string) {
  return {
    error: ({ input }: { input?: unknown }) => `has to be ${Array.isArray(input) ? "sent once: " : ""}${text}`,
  };
}

/** The schema of a body with these fields. Others are ignored. */
export const jsonObject = <Fields extends z.core.$ZodLooseShape>(fields: Fields) =>
  z.object(fields, { error: "has to be a JSON object" });

/** One of these values. */
export const oneOf = <const Values extends readonly string[]>(values: Values, ruleOf = rule) =>
  z.enum(values, ruleOf(`one of ${values.join(", ")}`));

/** An array of some of these values, each once. */
export const someOf = <Value extends string>(values: readonly Value[], maxItems = values.length) =>
  parsed<Value[], Value[]>(
    (items) => {
      const isSome = Array.isArray(items) && items.length >= 1 && items.length <= maxItems;
      return isSome && new Set(items).size === items.length && items.every((item) => values.includes(item))
        ? items
        : undefined;
    },
    rule(`an array of 1 to ${maxItems} of ${values.join(", ")}, without repetition`),
  );

/** A text that keeps a rule. Without `z.refine`, which brings 0.3 KiB into the bundle. */
const textOf = (keeps: (text: string) => boolean, { error }: ReturnType<typeof rule>) =>
  z.string({ error }).check(({ value, issues }) => {
    // Further checks of the body go on.
    if (!keeps(value)) issues.push({ code: "custom", message: error({ input: value }), input: value, continue: true });
  });

/** The name of an animal, of a category or of an order. */
export const nameField = (ruleOf = rule) =>
  textOf(isName, ruleOf(`a string of 1 to ${MAX_NAME_CHARACTERS} well-formed characters, not only white space`));

/** Visible ASCII. It has no look-alikes and no blanks. The document publishes it. */
export const CUSTOMER = /^[!-~]{1,255}$/;

/** The shop's name for a customer. */
export const customerField = (ruleOf = rule) =>
  textOf((text) => CUSTOMER.test(text), ruleOf("a string of 1 to 255 visible ASCII characters"));

/** A text of at most `maxCharacters` characters. It may be empty. */
export const textField = (maxCharacters: number) =>
  textOf((text) => isText(text, maxCharacters), rule(`a string of at most ${maxCharacters} well-formed characters`));

const INT64 = "an integer from -2^63 to 2^63 - 1";

/** The rule of a large integer in a body. */
const integerRule = (text: string): ReturnType<typeof rule> => ({
  error: ({ input }) =>
    isFromFloat(input) ? `has to be written with all its digits: ${text}` : rule(text).error({ input }),
});

/** An int64 in a body. */
export const int64Field = () => parsed<number, Int64>(toInt64, integerRule(INT64));

/** The largest version: a JavaScript number holds 15 digits exactly. */
export const MAX_VERSION = 10 ** 15 - 1;

/** An integer in a body that a JavaScript number holds exactly. */
export const integerField = (minimum: number, maximum: number) =>
  parsed<number, number>(
    (value) => {
      const integer = Number(toInt64(value));
      return integer >= minimum && integer <= maximum ? integer : undefined;
    },
    integerRule(`an integer from ${minimum} to ${maximum}`),
  );

/** The version of a resource in a body. */
export const versionField = () => integerField(1, MAX_VERSION);

/** An int64 in the query, in canonical decimal form. */
export const int64Parameter = () =>
  parsed<string, Int64>(
    (value) => (typeof value === "string" && isInt64(value) ? value : undefined),
    parameterRule(`${INT64}, in decimal digits`),
  );

/** Decimals of a second that a timestamp drops. */
const FINER = /\.\d{3}\d*[1-9]/;

/**
 * A bound of times in the query, as a timestamp. It has to be in UTC: a plus in a query is a blank. Times have milliseconds, so that those at or
 * after a finer bound are those at or after the next millisecond.
 */
export const timeParameter = () =>
  parsed<string, string>((value) => {
    const timestamp = typeof value === "string" && value.endsWith("Z") ? toTimestamp(value) : undefined;
    return timestamp !== undefined && FINER.test(value as string) ? shifted(timestamp, 1) : timestamp;
  }, parameterRule("a time of RFC 3339 in UTC, such as 2026-11-22T09:30:00Z"));

/**
 * A parameter of the query with several values, none of which has a comma. `query` takes it in each form that libraries write.
 *
 * @param parse gets a text, or an array of them.
 */
export const listParameter = <Value extends string, Sent extends string = Value>(
  parse: (value: unknown) => Value[] | undefined,
  text: string,
) => Object.assign(z.optional(parsed<Sent | Sent[], Value[]>(parse, rule(text))), { isList: true as const });

export const isList = (schema: object | undefined): boolean => schema !== undefined && "isList" in schema;

/**
 * A field that `parse` reads. If `parse` returns undefined, the field breaks its rule. `Input` is the type that a client sends.
 */
export function parsed<Input, Output>(
  parse: (value: unknown) => Output | undefined,
  { error }: ReturnType<typeof rule>,
) {
  return z.pipe(
    z.unknown() as z.ZodMiniType<Input, Input>,
    z.transform((input, context): Output => {
      const output = parse(input);
      if (output !== undefined) return output;
      context.issues.push({ code: "custom", message: error({ input }), input });
      return z.NEVER;
    }),
  );
}
