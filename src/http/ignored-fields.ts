import type * as z from "zod/mini";

/** Names in the header at most. */
export const MAX_NAMES = 20;
/** Bytes of each name in the header at most: some proxies take 4 KiB of headers. */
export const MAX_NAME_BYTES = 100;
const CUT = "...";

/** The parts of a schema that lead to the fields of a body, or of its items. */
interface Definition {
  shape?: object;
  out?: Schema;
  element?: Schema;
}
interface Schema {
  _zod: { def: Definition };
}

/** The names that the schema of a body knows: those of an object, or of the items of an array. */
export function fieldsOf(schema: z.ZodMiniType): ReadonlySet<string> {
  let { def } = (schema as Schema)._zod;
  while (def.shape === undefined) def = ((def.out ?? def.element) as Schema)._zod.def;
  return new Set(Object.keys(def.shape));
}

/**
 * The value of `Ignored-Fields`: the names in a valid body that its schema does not know, as a list of structured fields (RFC 9651). Undefined
 * when it knows all.
 *
 * It stops at the last name that it tells. To ask for each of many integer-like names would take quadratic time in workerd.
 */
export function ignoredFields(known: ReadonlySet<string>, body: object): string | undefined {
  const ignored = new Set<string>();
  for (const item of Array.isArray(body) ? body : [body]) {
    for (const name in item) {
      if (!known.has(name) && ignored.add(name).size === MAX_NAMES) return written(ignored);
    }
  }
  return ignored.size === 0 ? undefined : written(ignored);
}

const written = (names: ReadonlySet<string>): string => Array.from(names, quoted).join(", ");

/** A String, or a Display String (RFC 9651, section 3.3.8) for a name with other characters than those of ASCII that are visible, and blanks. */
function quoted(name: string): string {
  const isPlain = /^[ -~]*$/.test(name);
  let [text, start] = ["", ""];
  for (const character of name.slice(0, MAX_NAME_BYTES + 1).toWellFormed()) {
    text += isPlain
      ? character.replace(/["\\]/, "\\$&")
      : character.replace(/[^ !#$&-~]/u, (other) => encodeURIComponent(other).toLowerCase());
    if (text.length <= MAX_NAME_BYTES - CUT.length) start = text;
    if (text.length > MAX_NAME_BYTES) return `${isPlain ? "" : "%"}"${start}${CUT}"`;
  }
  return `${isPlain ? "" : "%"}"${text}"`;
}
