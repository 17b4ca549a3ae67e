import type { OpenAPIObject, ResponseObject, SchemaObject } from "openapi3-ts/oas31";
import { operationsOf, resolve } from "../../openapi/read.ts";

/** What no response has, although a schema that several share allows it. */
const IMPOSSIBLE = new Set([
  // A batch has at least one item.
  "createPets 201 is empty",
  "updatePets 200 is empty",
  "importPets 200 is empty",
  // What is imported has one.
  "importPets 200[].externalId is left out",
  // D1 gave each answer of these tests a bookmark.
  "followLive 200.bookmark is left out",
  // Only the answer to a replay with `latest` tells what it left out.
  "getWebhookState 200.skipped",
  "getWebhookState 200.skipped.from",
  "getWebhookState 200.skipped.to",
  // A new webhook is enabled.
  "createWebhook 201.disabledReason",
  // Absent in stored responses to requests of a time before the field only.
  "createWebhook 201.concurrency is left out",
  "getWebhook 200.concurrency is left out",
  "listWebhooks 200[].concurrency is left out",
  "updateWebhook 200.concurrency is left out",
]);

/** The forms that a document gives the bodies of successes: each field, left out too, each listed value, null, and empty arrays. */
export class Forms {
  /** Such as `listPets 200[].name` or `PetStatus = sold`. */
  readonly documented = new Set<string>();
  /** The optional fields of the object at a place. */
  readonly #optional = new Map<string, string[]>();
  /** The form of a value at a place. A named list of values is the same one at all its places. */
  readonly #values = new Map<string, string>();
  readonly #document: OpenAPIObject;

  constructor(document: OpenAPIObject) {
    this.#document = document;
    for (const { operationId, responses = {} } of operationsOf(document).values()) {
      for (const [status, response] of Object.entries<ResponseObject>(responses)) {
        const { content = {} } = resolve(document, response);
        const schema = content["application/json"]?.schema;
        if (Number(status) < 300 && schema !== undefined) this.#describe(schema, `${operationId} ${status}`);
      }
    }
    for (const form of IMPOSSIBLE) if (!this.documented.delete(form)) throw new Error(`${form} is not documented.`);
  }

  #describe(part: SchemaObject | { $ref: string }, place: string): void {
    const schema = resolve(this.#document, part as SchemaObject);
    const { oneOf = [], anyOf = [], allOf = [], enum: values = [], properties = {}, required = [], items } = schema;
    for (const branch of [...oneOf, ...anyOf, ...allOf]) this.#describe(branch, place);
    const list = "$ref" in part ? part.$ref.split("/").at(-1) : place;
    for (const value of values) this.#addValue(place, value, `${list} = ${value}`);
    if ([schema.type].flat().includes("null")) this.#addValue(place, null, `${place} = null`);
    if (items !== undefined) {
      if (!schema.minItems) this.documented.add(`${place} is empty`);
      this.#describe(items, `${place}[]`);
    }
    for (const [name, field] of Object.entries(properties)) {
      this.documented.add(`${place}.${name}`);
      if (!required.includes(name)) {
        this.documented.add(`${place}.${name} is left out`);
        this.#optional.set(place, [...(this.#optional.get(place) ?? []), name]);
      }
      this.#describe(field, `${place}.${name}`);
    }
  }

  #addValue(place: string, value: string | null, form: string): void {
    this.#values.set(`${place} = ${value}`, form);
    this.documented.add(form);
  }

  /** Calls back for each documented form of a value. */
  see(value: unknown, place: string, saw: (form: string) => void): void {
    const tell = (form = "") => this.documented.has(form) && saw(form);
    if (Array.isArray(value)) {
      if (value.length === 0) tell(`${place} is empty`);
      for (const item of value) this.see(item, `${place}[]`, saw);
    } else if (typeof value === "object" && value !== null) {
      for (const [name, field] of Object.entries(value)) {
        tell(`${place}.${name}`);
        this.see(field, `${place}.${name}`, saw);
      }
      for (const name of this.#optional.get(place) ?? []) if (!(name in value)) tell(`${place}.${name} is left out`);
    } else tell(this.#values.get(`${place} = ${String(value)}`));
  }
}
