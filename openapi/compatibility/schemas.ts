// Compares two versions of a schema. Where clients send values, the current version has to accept all that the released one
// accepts; where clients receive values, the released one has to accept all that the current one allows. Each rule therefore
// answers one question: which values of `from` does `to` refuse?
import type { OpenAPIObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";
import { expand, follow, sharedName, show } from "../read.ts";
import { fieldsOf, flatten, join, type Keywords, type Schema } from "./flatten.ts";
import { compareKnownValues, listedIn, neverReceived, refused, withoutKnownValues } from "./open-lists.ts";
import { compareLists, compareTypes, CONSEQUENCE, type Direction, isKept, tellValues, typesOf } from "./values.ts";

export interface Documents {
  released: OpenAPIObject;
  current: OpenAPIObject;
}

export interface Comparison extends Documents {
  direction: Direction;
}

/** Keywords with their own rules. Any other keyword only restricts the values of its schema. */
const STRUCTURE = /^(type|discriminator|properties|required|items)$/;

/**
 * Sentences on the changes that break clients that send or receive values of this schema.
 *
 * @throws RangeError for a recursive schema. The document has none.
 */
export function compareSchemas(comparison: Comparison, where: string, before: Schema, after: Schema): string[] {
  const { released, current } = comparison;
  const name = sharedName(before, after);
  if (name === undefined) return compareKeywords(comparison, where, flatten(released, before), flatten(current, after));
  const { $ref, ...besideBefore } = before as ReferenceObject;
  const { $ref: _, ...besideAfter } = after as ReferenceObject;
  return [
    ...compareSchemas(comparison, where, besideBefore, besideAfter),
    ...compareSchemas(comparison, name, follow<SchemaObject>(released, $ref), follow<SchemaObject>(current, $ref)),
  ];
}

/** The schema of the sender, then the schema of the receiver. */
function sides<Side>({ direction }: Comparison, before: Side, after: Side): [from: Side, to: Side] {
  return direction === "request" ? [before, after] : [after, before];
}

function compareSides(comparison: Comparison, where: string, from: Schema, to: Schema): string[] {
  return compareSchemas(comparison, where, ...sides(comparison, from, to));
}

function compareKeywords(comparison: Comparison, where: string, before: Keywords, after: Keywords): string[] {
  const { direction, released, current } = comparison;
  const [from, to] = sides(comparison, before, after);
  const tagged = compareTagged(comparison, where, from, to);
  if (tagged !== undefined) return tagged;
  if ([from, to].some(({ oneOf, anyOf }) => oneOf ?? anyOf)) return compareAlternatives(comparison, where, from, to);

  const types = compareTypes(direction, where, typesOf(from), typesOf(to));
  // Types that have nothing in common make further comparison pointless.
  if (!haveCommonType(from, to)) return types;

  const documents = sides(comparison, released, current);
  const stricter = Object.keys(to).filter((name) => !STRUCTURE.test(name) && !isKept(name, from, to, documents));
  const tell = (keyword: string) =>
    `${where}: ${keyword} was ${show(expand(released, before[keyword]))} and is now ${show(expand(current, after[keyword]))}`;
  return [
    ...types,
    ...compareLists(direction, where, from, to),
    ...stricter.map((keyword) => `${tell(keyword)}, ${CONSEQUENCE[direction]}`),
    ...compareFields(comparison, where, before, after),
    ...(to.items === undefined ? [] : compareSides(comparison, `${where}[]`, from.items ?? {}, to.items)),
  ];
}

function haveCommonType(one: Keywords, other: Keywords): boolean {
  return typesOf(one).some((type) => typesOf(other).includes(type));
}

/**
 * Every alternative of `from` needs one of `to` that accepts all of its values. Otherwise the closest one supplies the sentences.
 */
function compareAlternatives(comparison: Comparison, where: string, from: Keywords, to: Keywords): string[] {
  const [fromDocument, toDocument] = sides(comparison, comparison.released, comparison.current);
  const [given, taken] = [alternativesOf(from), alternativesOf(to)];
  const accepted = withoutKnownValues(toDocument, taken).map((schema) => ({
    schema,
    flat: flatten(toDocument, schema),
  }));
  const changes = withoutKnownValues(fromDocument, given).flatMap((alternative) => {
    const values = listedIn(fromDocument, alternative);
    if (values !== undefined) return tellValues(comparison.direction, where, refused(toDocument, taken, values));
    const flat = flatten(fromDocument, alternative);
    const [nearest] = accepted
      .filter((one) => haveCommonType(flat, one.flat))
      .map(({ schema }) => compareSides(comparison, where, alternative, schema))
      .toSorted((one, other) => one.length - other.length);
    const types = accepted.flatMap((one) => typesOf(one.flat));
    return nearest ?? compareTypes(comparison.direction, where, typesOf(flat), types);
  });
  if (comparison.direction === "request") return changes;
  return [...compareKnownValues(comparison, where, taken, given), ...changes];
}

/**
 * Compares the alternatives that a discriminator names, value by value. A value that `to` does not name belongs to the alternative beside
 * them. Returns undefined if there are none.
 */
function compareTagged(comparison: Comparison, where: string, from: Keywords, to: Keywords): string[] | undefined {
  const { direction } = comparison;
  const [fromDocument, toDocument] = sides(comparison, comparison.released, comparison.current);
  const [given, taken] = [taggedOf(fromDocument, from), taggedOf(toDocument, to)];
  if (given === undefined || given.tag !== taken?.tag) return undefined;
  const place = `${where}.${given.tag}`;
  const changes = [...given.schemas].flatMap(([value, schema]) => {
    const accepted = taken.schemas.get(value) ?? taken.schemas.get(OTHERS);
    return accepted === undefined
      ? tellValues(direction, place, [value])
      : compareSides(comparison, `${where}(${value})`, schema, accepted);
  });
  if (direction === "request") return changes;
  const gone = [...taken.schemas.keys()].filter((value) => value !== OTHERS && !given.schemas.has(value));
  return [...changes, ...gone.map((value) => neverReceived(place, value))];
}

/** The alternative that the discriminator does not name. */
const OTHERS = "any other value";

/** The alternatives by the value that names them, each without the field of that value. */
function taggedOf(
  document: OpenAPIObject,
  keywords: Keywords,
): { tag: string; schemas: Map<string, Schema> } | undefined {
  const { oneOf, anyOf, discriminator } = keywords;
  const beside = discriminator === undefined ? (oneOf ?? anyOf ?? []).map((one) => flatten(document, one)) : [];
  const { propertyName: tag, mapping = {} } =
    [keywords, ...beside].find((one) => one.discriminator)?.discriminator ?? {};
  if (tag === undefined) return undefined;
  const other = beside.find((one) => one.discriminator === undefined);
  const named = Object.entries(mapping).map(([value, $ref]) => [value, flatten(document, { $ref })] as const);
  return {
    tag,
    schemas: new Map(
      [...named, ...(other === undefined ? [] : [[OTHERS, other] as const])].map(([value, schema]) => {
        const { properties: { [tag]: _, ...properties } = {}, ...rest } = schema;
        return [value, { ...rest, properties }];
      }),
    ),
  };
}

/** `anyOf` counts as `oneOf`: for mutually exclusive alternatives they are equivalent. */
function alternativesOf({ oneOf, anyOf, ...rest }: Keywords): Schema[] {
  const common: Keywords = oneOf === undefined || anyOf === undefined ? rest : { ...rest, anyOf };
  const alternatives = oneOf ?? anyOf ?? [{}];
  return alternatives.map((one) => (typeof one === "object" ? join(common, one as Keywords) : one));
}

function compareFields(comparison: Comparison, where: string, before: Keywords, after: Keywords): string[] {
  const isRequest = comparison.direction === "request";
  const [from, to] = sides(comparison, before, after);
  const [fields, newFields] = [fieldsOf(before), fieldsOf(after)];
  const changes: string[] = [];

  for (const [name, field] of fields) {
    const newField = newFields.get(name);
    if (newField === undefined) {
      const consequence = isRequest ? "so the service ignores or refuses it" : "so clients that read it break";
      changes.push(`${where}.${name}: the field is gone, ${consequence}`);
    } else changes.push(...compareSchemas(comparison, `${where}.${name}`, field, newField));
  }
  for (const name of to.required ?? []) {
    if (from.required?.includes(name) || (fields.has(name) && !newFields.has(name))) continue;
    const change = isRequest
      ? "is now required, so requests without it are refused"
      : "may now be missing, so clients that read it break";
    changes.push(`${where}.${name}: the field ${change}`);
  }
  return changes;
}
