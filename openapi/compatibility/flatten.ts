import type { OpenAPIObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";
import { follow, write } from "../read.ts";

export type Schema = SchemaObject | ReferenceObject | boolean;
export type Keywords = SchemaObject & { [keyword: string]: unknown };

/** Keywords that affect neither the valid values nor their meaning. Extensions (`x-`) do not either. */
const ANNOTATIONS = /^(\$comment|description|title|summary|examples?|externalDocs|deprecated|x-.*)$/;

/** The keywords of a schema, of its reference and of its `allOf`, without annotations. */
export function flatten(document: OpenAPIObject, schema: Schema): Keywords {
  if (typeof schema === "boolean") return schema ? {} : { not: {} };
  const { $ref, allOf = [], ...rest } = schema as SchemaObject;
  const own = Object.fromEntries(Object.entries(rest).filter(([keyword]) => !ANNOTATIONS.test(keyword)));
  const parts = $ref === undefined ? allOf : [follow<SchemaObject>(document, $ref), ...allOf];
  return parts.map((part) => flatten(document, part)).reduce(merge, own);
}

/** Combines two schemas that both apply. Two rules for the same keyword stay separate, under `allOf`. */
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

/** A map by name: an object would have `constructor` for every schema. */
export function fieldsOf({ properties = {} }: Keywords): Map<string, SchemaObject | ReferenceObject> {
  return new Map(Object.entries(properties));
}
