// Values for the schemas of the document, made with fast-check.
import fc from "fast-check";
import type { OpenAPIObject, ReferenceObject, SchemaObject } from "openapi3-ts/oas31";
import { resolve } from "../../../openapi/read.ts";

type Value = fc.Arbitrary<unknown>;
/** The bounds of the integers of a schema. */
const boundsOf = ({ minimum, maximum, format }: SchemaObject): [min: bigint, max: bigint] => {
  const [least, most] = format === "int64" ? [-(2n ** 63n), 2n ** 63n - 1n] : [-100_000n, 100_000n];
  return [BigInt(minimum ?? least), BigInt(maximum ?? most)];
};
/** As many items as a generated array has at most: more of them say no more. */
const MAX_ITEMS = 4;

const webPath = fc.stringMatching(/^(?:\/(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2}){0,9}){0,4}$/);

/** Makes the values that the schemas of a document allow, and those that they refuse. */
export function valuesOf(document: OpenAPIObject) {
  const known = new Map<object, Value>();

  /** Values that a schema allows. Half of them are its examples, if it has some. */
  function valid(schema: SchemaObject | ReferenceObject): Value {
    const made = known.get(schema) ?? make(resolve(document, schema));
    known.set(schema, made);
    return made;
  }

  function make(schema: SchemaObject): Value {
    const { examples = [] } = schema;
    const others = withoutExamples(schema);
    return examples.length === 0 ? others : fc.oneof(fc.constantFrom(...(examples as unknown[])), others);
  }

  function withoutExamples(schema: SchemaObject): Value {
    if (schema.const !== undefined) return fc.constant(schema.const as unknown);
    if (schema.enum !== undefined) return fc.constantFrom(...(schema.enum as unknown[]));
    const parts = schema.anyOf ?? schema.oneOf;
    if (parts !== undefined) return fc.oneof(...parts.map(valid));
    const [type] = [schema.type].flat();
    switch (type) {
      case "integer": {
        const [min, max] = boundsOf(schema);
        const near = [0n, 1n, 2n, 3n, 5n].filter((one) => one >= min && one <= max);
        return fc.oneof(fc.constantFrom(min, max, ...near), fc.bigInt({ min, max }));
      }
      case "string":
        return text(schema);
      case "boolean":
        return fc.boolean();
      case "null":
        return fc.constant(null);
      case "array": {
        const item = valid(schema.items ?? {});
        const size = { minLength: schema.minItems ?? 0, maxLength: Math.min(schema.maxItems ?? MAX_ITEMS, MAX_ITEMS) };
        return schema.uniqueItems === true ? fc.uniqueArray(item, size) : fc.array(item, size);
      }
      case "object":
        return object(schema);
      default:
        throw new Error(`No values for ${JSON.stringify(schema)}`);
    }
  }

  function text({ format, pattern, minLength = 0, maxLength = 50 }: SchemaObject): Value {
    if (format === "date-time")
      return fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }).map((date) => date.toISOString());
    // fc.webUrl would take a second to start.
    if (format === "uri") return fc.tuple(fc.domain(), webPath).map((parts) => `https://${parts.join("")}`);
    const any = pattern === undefined ? fc.string({ minLength }) : fc.stringMatching(new RegExp(pattern, "u"));
    return any.filter((made) => [...made].length <= maxLength && [...made].length >= minLength && made.isWellFormed());
  }

  function object({ properties = {}, required = [], ...more }: SchemaObject): Value {
    const { dependentRequired = {} } = more as { dependentRequired?: Record<string, string[]> };
    const fields = Object.fromEntries(Object.entries(properties).map(([name, field]) => [name, valid(field)]));
    const needs = (made: object) =>
      Object.entries(dependentRequired).every(
        ([name, others]) => !(name in made) || others.every((one) => one in made),
      );
    return fc.record(fields, { requiredKeys: required }).filter(needs);
  }

  /** Values that a schema refuses. */
  function invalid(reference: SchemaObject | ReferenceObject): Value {
    const schema = resolve(document, reference);
    const otherTypes = [true, 1.5, "\u0000", [[]], {}, null].filter((one) => !isOfType(one, schema));
    const wrong: Value[] = [fc.constantFrom(...otherTypes)];
    const [type] = [schema.type].flat();
    const [min, max] = boundsOf(schema);
    if (type === "integer") wrong.push(fc.constantFrom(min - 1n, max + 1n));
    if (type === "string" && schema.maxLength !== undefined) wrong.push(fc.constant("x".repeat(schema.maxLength + 1)));
    if (type === "array") {
      wrong.push(fc.array(invalid(schema.items ?? {}), { minLength: 1, maxLength: MAX_ITEMS }));
      if ((schema.minItems ?? 0) > 0) wrong.push(fc.constant([]));
      const beyond = schema.maxItems;
      if (beyond !== undefined)
        wrong.push(valid(schema.items ?? {}).map((item) => Array<unknown>(beyond + 1).fill(item)));
    }
    if (type === "object") {
      const whole = object({ ...schema, required: Object.keys(schema.properties ?? {}) }) as fc.Arbitrary<object>;
      for (const name of schema.required ?? [])
        wrong.push(whole.map((made) => Object.fromEntries(Object.entries(made).filter(([one]) => one !== name))));
      for (const [name, field] of Object.entries(schema.properties ?? {}))
        wrong.push(fc.tuple(whole, invalid(field)).map(([made, bad]) => ({ ...made, [name]: bad })));
    }
    return fc.oneof(...wrong);
  }

  /** Whether a value has a type that a schema allows, at least in one of its parts. */
  function isOfType(value: unknown, reference: SchemaObject | ReferenceObject): boolean {
    const schema = resolve(document, reference);
    const parts = schema.anyOf ?? schema.oneOf;
    if (parts !== undefined) return parts.some((part) => isOfType(value, part));
    const type = value === null ? "null" : Array.isArray(value) ? "array" : typeof value;
    const types = schema.type === undefined ? [typeof (schema.enum?.[0] ?? schema.const)] : [schema.type].flat();
    return types.includes(type as "string");
  }

  return { valid, invalid };
}
