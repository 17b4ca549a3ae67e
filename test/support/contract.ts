import { type Schema, Validator } from "@cfworker/json-schema";
import type { HeadersObject, OpenAPIObject, OperationObject, ReferenceObject, ResponseObject } from "openapi3-ts/oas31";
import { expect } from "vitest";
import { operationsOf, resolve } from "../../openapi/read.ts";
import ownDocument from "../../public/openapi.json" with { type: "json" };
import { close, closeInside } from "./closed.ts";

/** Headers that are unrelated to the operation: those of every response (src/http/respond.ts), and those of HTTP itself. */
const EVERYWHERE = new Set([
  "access-control-expose-headers",
  "content-length",
  "content-security-policy",
  "content-type",
  "strict-transport-security",
  "x-content-type-options",
  // Added by a server.
  "connection",
  "content-encoding",
  "date",
  "keep-alive",
  "transfer-encoding",
]);

export const { findOperation, expectDocumented } = contractOf(ownDocument as unknown as OpenAPIObject);

/** Checks the responses of a service against the document of its interface. */
export function contractOf(document: OpenAPIObject) {
  const operations = operationsOf(document);
  const validators = new WeakMap<object, Validator>();
  const schemas = Object.fromEntries(
    Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [name, closeInside(schema as Schema)]),
  );

  /** The operation of the document that matches a request, if any. */
  function findOperation(method: string, pathname: string): OperationObject | undefined {
    for (const [name, operation] of operations) {
      const [documented, template = ""] = name.split(" ");
      const pattern = new RegExp(`^/v1${template.replace(/\{\w+\}/g, "[^/]+")}$`);
      if (documented === (method === "HEAD" ? "GET" : method) && pattern.test(pathname)) return operation;
    }
    return undefined;
  }

  /**
   * Asserts that the document describes a response: its status, each of its headers, and its body. Ignores requests that match
   * no operation of the document.
   */
  async function expectDocumented(method: string, url: string, answer: Response): Promise<void> {
    const operation = findOperation(method, new URL(url).pathname);
    if (operation === undefined) return;
    const response = answer.clone();
    const what = `${operation.operationId} ${response.status}`;
    const part = operation.responses?.[response.status] as ResponseObject | ReferenceObject | undefined;
    if (part === undefined) return expect.unreachable(`${what} is not documented`);
    const { headers = {}, content = {} } = resolve(document, part);
    expectHeaders(response.headers, headers, what);

    const mediaTypes = Object.keys(content);
    const mediaType = response.headers.get("Content-Type");
    expect(mediaTypes.length === 0 ? [null] : mediaTypes, `${what}: the media type`).toContain(mediaType);
    if (method === "HEAD") return;
    const text = await response.text();
    if (mediaType === null) expect(text, `${what}: the body`).toBe("");
    else {
      const body: unknown = /[/+]json$/.test(mediaType) ? JSON.parse(text) : text;
      expectValid(body, content[mediaType]?.schema ?? {}, `${what}: the body`);
    }
  }

  function expectHeaders(sent: Headers, documented: HeadersObject, what: string): void {
    const headers = new Map(
      Object.entries(documented).map(([name, part]) => [name.toLowerCase(), resolve(document, part)]),
    );
    for (const [name, { required = false, schema = {} }] of headers) {
      const value = sent.get(name);
      if (value === null) expect(required, `${what} lacks ${name}`).toBe(false);
      else
        expectValid(
          resolve(document, schema).type === "integer" ? Number(value) : value,
          schema,
          `${what}, ${name}: ${value}`,
        );
    }
    const undocumented = [...sent.keys()].filter((name) => !headers.has(name) && !EVERYWHERE.has(name));
    expect(undocumented, `${what}: headers that are not documented`).toEqual([]);
  }

  function expectValid(value: unknown, schema: object, what: string): void {
    expect(validatorOf(schema).validate(value).errors, what).toEqual([]);
  }

  /** Cached, because building one takes longer than the rest of a check. */
  function validatorOf(schema: object): Validator {
    const known = validators.get(schema);
    if (known !== undefined) return known;
    const validator = new Validator({ ...close(schema), components: { schemas } }, "2020-12", false);
    validators.set(schema, validator);
    return validator;
  }

  return { findOperation, expectDocumented };
}
