import { zValidator } from "@hono/zod-validator";
import type { ValidationTargets } from "hono";
import { type $ZodErrorClass, type $ZodIssue, _safeParse } from "zod/v4/core";
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
  return zValidator(
    target,
    schema,
    (result) => {
      if (!result.success) throw new ApiError("invalid_request", describe(result.error.issues));
    },
    // Our schemas have nothing to wait for. The option is typed for zod's classic schemas only.
    { validationFunction: (mini, value) => safeParse(mini, value) as never },
  );
}

/** What we need of a ZodError. Making a real one is a tenth of the CPU of a refused request. */
class Issues {
  readonly issues: $ZodIssue[];

  constructor(issues: $ZodIssue[]) {
    this.issues = issues;
  }
}

const safeParse = _safeParse(Issues as $ZodErrorClass);

function describe(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const sentences = issues.map(({ path, message }) => [...path, message].join(" "));
  return `${[...new Set(sentences)].join("; ")}.`;
}
