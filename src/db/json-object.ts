import { and, type SQL, type SQLWrapper, sql } from "drizzle-orm";
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
  const isAbsent = and(...Object.values(optional).map((value) => sql`${value} IS NULL`));
  if (isAbsent === undefined) return object as SQL<Json<Body>>;
  // A merge patch (RFC 7396) removes fields that are null. It takes longer than all else of a row, and most have none of them.
  return sql<Json<Body>>`iif(${isAbsent}, ${object}, json_patch(${object}, ${jsonObject(optional)}))`;
}

function jsonObject(fields: object): SQL {
  const entries = Object.entries(fields).map(([field, value]) => sql`${sql.raw(`'${field}'`)}, ${value}`);
  return sql`json_object(${sql.join(entries, sql`, `)})`;
}
