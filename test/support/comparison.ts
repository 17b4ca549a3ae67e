import { dereference, initialBaseURI, type OutputUnit, type Schema, validate } from "@cfworker/json-schema";
import type { HeadersObject, OpenAPIObject, OperationObject, ReferenceObject, ResponseObject } from "openapi3-ts/oas31";
import { operationsOf, resolve } from "../../openapi/read.ts";
import { close } from "./closed.ts";

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

/** The places of the items of a batch, at the beginning of a message. */
const PLACES = /(?<="message":")\d+(, \d+)*: /;

/** Values that are remembered as valid under a schema, at most. */
const MAX_KNOWN = 1_000;

type Check = (value: unknown) => OutputUnit[];

/** The parts of a response that a document describes. */
export interface Documented {
  status: number;
  headers: Headers;
  text: string;
}

/** Compares the responses of a service with the document of its interface. */
export function comparisonWith(document: OpenAPIObject) {
  const operations = operationsOf(document);
  const checks = new Map<object, Check>();
  const templates = Object.keys(document.paths ?? {}).map(
    (path) => [path, new RegExp(`^/v1${path.replace(/\{\w+\}/g, "[^/]+")}$`)] as const,
  );
  const schemas = Object.fromEntries(
    Object.entries(document.components?.schemas ?? {}).map(([name, schema]) => [name, close(schema as Schema)]),
  );
  /** Where references lead to, from any schema. */
  const { [initialBaseURI.href]: _root, ...components } = dereference({ components: { schemas } });

  /** The operation of the document that matches a request, if any. A path without parameters comes first (OpenAPI 3.1, Paths Object). */
  function findOperation(method: string, pathname: string): OperationObject | undefined {
    const [path] =
      templates.find(([template]) => `/v1${template}` === pathname) ??
      templates.find(([, pattern]) => pattern.test(pathname)) ??
      [];
    return operations.get(`${method === "HEAD" ? "GET" : method} ${path}`);
  }

  /**
   * The differences between a response and the document: its status, each of its headers, and its body. None for a request that matches
   * no operation of the document.
   */
  function differencesOf(method: string, pathname: string, { status, headers, text }: Documented): string[] {
    const operation = findOperation(method, pathname);
    if (operation === undefined) return [];
    const what = `${operation.operationId} ${status}`;
    const part = operation.responses?.[status] as ResponseObject | ReferenceObject | undefined;
    if (part === undefined) return [`${what} is not documented`];
    const { headers: documented = {}, content = {} } = resolve(document, part);
    const differences = differencesOfHeaders(headers, documented, what);

    const mediaTypes = Object.keys(content);
    const mediaType = headers.get("Content-Type");
    if (!(mediaTypes.length === 0 ? [null] : (mediaTypes as (string | null)[])).includes(mediaType)) {
      return [...differences, `${what}: the media type ${mediaType} is not one of ${mediaTypes.join(", ")}`];
    }
    if (method === "HEAD") return differences;
    if (mediaType === null) return text === "" ? differences : [...differences, `${what}: the body is not empty`];
    const body: unknown = /[/+]json$/.test(mediaType) ? JSON.parse(text) : text;
    const examples = Object.values(content[mediaType]?.examples ?? {});
    return [
      ...differences,
      ...differencesOfValue(body, content[mediaType]?.schema ?? {}, `${what}: the body`),
      ...(status < 400 ? [] : differencesOfMessage(body, examples as { value: unknown }[], what)),
    ];
  }

  /** A failure has the message of an example. That of a batch names other places, and some messages depend on the request. */
  function differencesOfMessage(body: unknown, examples: { value: unknown }[], what: string): string[] {
    const { code, message } = body as { code: string; message: string };
    const known = examples.map(({ value }) => JSON.stringify(value).replace(PLACES, ""));
    const isKnown =
      /^(invalid_request|insufficient_scope)$/.test(code) || known.includes(JSON.stringify(body).replace(PLACES, ""));
    return isKnown || examples.length === 0 ? [] : [`${what}: the message of ${code} is in no example: ${message}`];
  }

  function differencesOfHeaders(sent: Headers, documented: HeadersObject, what: string): string[] {
    const differences: string[] = [];
    const names = new Set(EVERYWHERE);
    for (const [name, reference] of Object.entries(documented)) {
      names.add(name.toLowerCase());
      const { required = false, schema = {} } = resolve(document, reference);
      const value = sent.get(name);
      if (value === null) {
        if (required) differences.push(`${what} lacks ${name.toLowerCase()}`);
        continue;
      }
      const typed = resolve(document, schema).type === "integer" ? Number(value) : value;
      differences.push(...differencesOfValue(typed, schema, `${what}, ${name.toLowerCase()}: ${value}`));
    }
    for (const name of sent.keys())
      if (!names.has(name)) differences.push(`${what}: headers that are not documented: ${name}`);
    return differences;
  }

  function differencesOfValue(value: unknown, schema: object, what: string): string[] {
    const check = checks.get(schema) ?? checkOf(close(schema));
    checks.set(schema, check);
    return check(value).map(({ error, instanceLocation }) => `${what}: ${error} (${instanceLocation})`);
  }

  function checkOf(schema: Schema): Check {
    const lookup = dereference(schema, Object.create(components));
    const known = new Set<string>();
    return (value) => {
      const json = JSON.stringify(value);
      if (known.has(json)) return [];
      const { errors } = validate(value, schema, "2020-12", lookup, false);
      if (known.size === MAX_KNOWN) known.clear();
      if (errors.length === 0) known.add(json);
      return errors;
    };
  }

  return { findOperation, differencesOf };
}
