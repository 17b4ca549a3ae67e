import { zValidator } from "@hono/zod-validator";
import type { ValidationTargets } from "hono";
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
    { validationFunction: (mini, value) => mini.safeParse(value) as never },
  );
}

function describe(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  const sentences = issues.map(({ path, message }) => [...path, message].join(" "));
  return `${[...new Set(sentences)].join("; ")}.`;
}
