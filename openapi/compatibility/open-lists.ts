// Lists that may grow (docs/versioning.md): one alternative lists the known values, and another accepts these and others.
import { Validator } from "@cfworker/json-schema";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { write } from "../read.ts";
import { flatten, type Schema } from "./flatten.ts";
import type { Documents } from "./schemas.ts";
import { missing, valuesOf } from "./values.ts";

/**
 * The alternatives that decide which values are valid. A list of known values is omitted if another alternative accepts them all.
 */
export function withoutKnownValues(document: OpenAPIObject, alternatives: Schema[]): Schema[] {
  const others = alternatives.filter((one) => listedIn(document, one) === undefined);
  return alternatives.filter((one) => {
    const values = listedIn(document, one);
    return values === undefined || refused(document, others, values).length > 0;
  });
}

/** Clients may wait for the known values of an open list in a response. */
export function compareKnownValues(
  { released, current }: Documents,
  where: string,
  before: Schema[],
  after: Schema[],
): string[] {
  if (!isOpen(released, before) && !isOpen(current, after)) return [];
  const known = before.flatMap((one) => listedIn(released, one) ?? []);
  const stillKnown = after.flatMap((one) => listedIn(current, one) ?? []);
  return missing(known, stillKnown).map((value) => neverReceived(where, value));
}

export function neverReceived(where: string, value: unknown): string {
  return `${where}: may no longer be ${write(value)}, so clients that wait for it never receive it`;
}

function isOpen(document: OpenAPIObject, alternatives: Schema[]): boolean {
  return withoutKnownValues(document, alternatives).length < alternatives.length;
}

export function listedIn(document: OpenAPIObject, schema: Schema): unknown[] | undefined {
  return valuesOf(flatten(document, schema));
}

/**
 * By document and alternatives. A new validator first reads all components, which takes milliseconds, and a document has the same
 * alternatives in many places.
 */
const validators = new WeakMap<OpenAPIObject, Map<string, Validator>>();

/** The values that none of the alternatives accepts. */
export function refused(document: OpenAPIObject, alternatives: Schema[], values: unknown[]): unknown[] {
  const validator = validatorOf(document, alternatives);
  return values.filter((value) => !validator.validate(value).valid);
}

function validatorOf(document: OpenAPIObject, alternatives: Schema[]): Validator {
  const known = validators.get(document) ?? new Map<string, Validator>();
  validators.set(document, known);
  const text = write(alternatives);
  const schema: object = { anyOf: alternatives, components: document.components };
  const validator = known.get(text) ?? new Validator(schema, "2020-12");
  known.set(text, validator);
  return validator;
}
