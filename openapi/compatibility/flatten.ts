import type { OpenAPIObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";
import { follow } from "../read.ts";

export type Schema = SchemaObject | ReferenceObject | boolean;
export type Keywords = SchemaObject & { [keyword: string]: unknown };

/** Keywords that affect neither the valid values nor their meaning. Extensions (`x-`) do not either. */
const ANNOTATIONS = /^(\$comment|description|title|summary|examples?|externalDocs|deprecated|x-.*)$/;

/** Keywords whose effect this check does not know. The document does not have them. */
const UNKNOWN = /^(additionalProperties|allOf|default|patternProperties|readOnly|unevaluatedProperties|writeOnly)$/;

/**
 * The keywords of a schema and of its reference, without annotations.
 *
 * @throws Error for a keyword that this check does not know, and for one beside a reference that the target has too.
 */
export function flatten(document: OpenAPIObject, schema: Schema): Keywords {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  const { $ref, ...rest } = schema as SchemaObject;
  const own: Keywords = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !ANNOTATIONS.test(keyword)));
  const unknown = Object.keys(own).filter((keyword) => UNKNOWN.test(keyword));
  if (unknown.length > 0) throw new Error(`The check of compatibility does not know ${unknown.join(" and ")}.`);
  return $ref === undefined ? own : join(flatten(document, follow<SchemaObject>(document, $ref)), own);
}

/** Two schemas that both apply. */
export function join(one: Keywords, other: Keywords): Keywords {
  const twice = Object.keys(other).filter((keyword) => keyword in one);
  if (twice.length > 0) throw new Error(`The check of compatibility cannot join two rules for ${twice.join(" and ")}.`);
  return { ...one, ...other };
}

/** A map by name: an object would have `constructor` for every schema. */
export function fieldsOf({ properties = {} }: Keywords): Map<string, SchemaObject | ReferenceObject> {
  return new Map(Object.entries(properties));
}
