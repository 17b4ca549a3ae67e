import { zValidator } from "@hono/zod-validator";
import type { ValidationTargets } from "hono";
import { type $ZodErrorClass, type $ZodIssue, type $ZodType, _safeParse } from "zod/v4/core";
import type * as z from "zod/mini";
import { ApiError } from "../errors.ts";

/**
 * Validates one part of a request. The message of a failure names every offending field with its rule, which is the
 * `error` of the field's schema.
 *
 * @throws ApiError `invalid_request`
 */
export function validate<Target extends keyof ValidationTargets, Schema extends z.ZodMiniType>(
  target: Target,
  schema: Schema,
) {
  return zValidator(target, schema, noHook, { validationFunction: parse });
}

/**
 * A hook would cost a promise and a copy of the result for each request. To the types it is one that answers nothing: without any
 * they would give each operation the validator's own answer to a failure, which `parse` never lets happen.
 */
const noHook = undefined as unknown as () => void;

/** What we need of a ZodError. Making a real one is a tenth of the CPU of a refused request. */
class Issues {
  readonly issues: $ZodIssue[];

  constructor(issues: $ZodIssue[]) {
    this.issues = issues;
  }
}

const safeParse = _safeParse(Issues as $ZodErrorClass);

/** At once: our schemas have nothing to wait for. Typed for the validator, whose option knows zod's classic schemas only. */
function parse(schema: $ZodType, value: unknown): never {
  const result = safeParse(schema, value);
  if (!result.success) throw new ApiError("invalid_request", describe(result.error.issues));
  return result as never;
}

function describe(issues: readonly $ZodIssue[]): string {
  const sentences = issues.map(({ path, message }) => [...path, message].join(" "));
  return `${[...new Set(sentences)].join("; ")}.`;
}
