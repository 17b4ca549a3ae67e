import { type SQL, type SQLWrapper, sql } from "drizzle-orm";
import type { Json } from "../exact/json.ts";

/**
 * SQL for a body as JSON, with exact integers. A missing field does not compile.
 *
 * @param fields SQL for each field, in the order of the body.
 * @param optional SQL for more fields that may be missing. A null omits the field.
 */
export function jsonObjectOf<Body extends object>(
  fields: { [Field in keyof Body as {} extends Pick<Body, Field> ? never : Field]: SQLWrapper },
  optional: { [field: string]: SQLWrapper } = {},
): SQL<Json<Body>> {
  const object = jsonObject(fields);
  if (Object.keys(optional).length === 0) return object as SQL<Json<Body>>;
  // A merge patch (RFC 7396) removes fields that are null.
  return sql<Json<Body>>`json_patch(${object}, ${jsonObject(optional)})`;
}

function jsonObject(fields: object): SQL {
  const entries = Object.entries(fields).map(([field, value]) => sql`${sql.raw(`'${field}'`)}, ${value}`);
  return sql`json_object(${sql.join(entries, sql`, `)})`;
}
