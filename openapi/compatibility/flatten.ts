import type { OpenAPIObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";
import { follow, write } from "../read.ts";

export type Schema = SchemaObject | ReferenceObject | boolean;
export type Keywords = SchemaObject & { [keyword: string]: unknown };

/** Keywords that change neither which values are valid nor what they mean. Extensions (`x-`) do not either. */
const ANNOTATIONS = /^(\$comment|description|title|summary|examples?|externalDocs|deprecated|x-.*)$/;

/** The keywords of a schema, with those of its reference and its `allOf` among them, without annotations. */
export function flatten(document: OpenAPIObject, schema: Schema): Keywords {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  const { $ref, allOf = [], ...rest } = schema as SchemaObject;
  const own = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !ANNOTATIONS.test(keyword)));
  const parts = $ref === undefined ? allOf : [follow<SchemaObject>(document, $ref), ...allOf];
  return parts.map((part) => flatten(document, part)).reduce(merge, own);
}

/** Both hold. Two rules for the same keyword stay apart, under `allOf`. */
function merge(one: Keywords, other: Keywords): Keywords {
  const merged: Keywords = { ...one };
  for (const [keyword, value] of Object.entries(other)) {
    if (one[keyword] === undefined) merged[keyword] = value;
    else if (keyword === "required")
      merged.required = [...new Set([...(one.required ?? []), ...(other.required ?? [])])];
    else if (keyword === "properties") merged.properties = mergeFields(one, other);
    else if (write(one[keyword]) !== write(value)) merged.allOf = [...(merged.allOf ?? []), { [keyword]: value }];
  }
  return merged;
}

function mergeFields(one: Keywords, other: Keywords): { [name: string]: SchemaObject | ReferenceObject } {
  const fields = fieldsOf(one);
  for (const [name, field] of fieldsOf(other)) {
    const known = fields.get(name);
    fields.set(name, known === undefined || write(known) === write(field) ? field : { allOf: [known, field] });
  }
  return Object.fromEntries(fields);
}

/** By name, in a map: an object would find `constructor` in every schema. */
export function fieldsOf({ properties = {} }: Keywords): Map<string, SchemaObject | ReferenceObject> {
  return new Map(Object.entries(properties));
}
