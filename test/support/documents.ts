import type { OpenAPIObject, OperationObject, PathItemObject, SchemaObject } from "openapi3-ts/oas31";
import { expect } from "vitest";
import { findBreakingChanges } from "../../openapi/compatibility.ts";

/** `null` for a compatible change, else a part of each sentence that reports it. */
export type Verdict = null | RegExp | RegExp[];

export function expectVerdict(released: OpenAPIObject, current: OpenAPIObject, verdict: Verdict): void {
  const sentences = [verdict ?? []].flat().map((part): unknown => expect.stringMatching(part));
  expect(findBreakingChanges(released, current)).toEqual(sentences);
}

export function api(
  paths: { [path: string]: PathItemObject },
  schemas: { [name: string]: SchemaObject } = {},
): OpenAPIObject {
  return { openapi: "3.1.0", info: { title: "Toys", version: "1" }, paths, components: { schemas } };
}

export const OK = { description: "Done." };

export const json = (schema: SchemaObject) => ({ content: { "application/json": { schema } } });

/** A document with one operation: `GET /toys/{id}`. */
export function getToy(operation: OperationObject): OpenAPIObject {
  return api({ "/toys/{id}": { get: { responses: { 200: OK }, ...operation } } });
}

/** The same, with a response of this schema. */
export function answering(schema: SchemaObject): OpenAPIObject {
  return getToy({ responses: { 200: { ...OK, ...json(schema) } } });
}
