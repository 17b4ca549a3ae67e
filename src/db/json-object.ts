import { type SQL, type SQLWrapper, sql } from "drizzle-orm";

type Optional<Body> = { [Field in keyof Body as undefined extends Body[Field] ? Field : never]: unknown };

/** A body with each of its fields, so that none can be forgotten. JSON.stringify omits one that is undefined. */
export type Complete<Body> = { [Field in keyof Required<Body>]: Body[Field] };

/**
 * SQL for a body as JSON. It writes the same text as JSON.stringify, with exact integers. A missing field does not compile.
 *
 * @param fields SQL for each field, in the order of the body.
 * @param optional SQL for each field that may be missing. A null omits the field.
 */
export function jsonObjectOf<Body extends object>(
  fields: { [Field in Exclude<keyof Body, keyof Optional<Body>>]: SQLWrapper },
  ...optional: keyof Optional<Body> extends never ? [] : [{ [Field in keyof Optional<Body>]: SQLWrapper }]
): SQL<string> {
  const [nullable] = optional;
  // A merge patch (RFC 7396) removes fields that are null.
  return nullable === undefined ? jsonObject(fields) : sql`json_patch(${jsonObject(fields)}, ${jsonObject(nullable)})`;
}

function jsonObject(fields: { [field: string]: SQLWrapper }): SQL<string> {
  const entries = Object.entries(fields).map(([field, value]) => sql`${sql.raw(`'${field}'`)}, ${value}`);
  return sql`json_object(${sql.join(entries, sql`, `)})`;
}
