// Requests that are made from the document alone, good, bad and spoilt, and along its links. The document describes every response.
import { readFileSync } from "node:fs";
import { Validator } from "@cfworker/json-schema";
import fc from "fast-check";
import type {
  LinkObject,
  OperationObject,
  ParameterObject,
  ReferenceObject,
  RequestBodyObject,
  ResponseObject,
  SchemaObject,
} from "openapi3-ts/oas31";
import { beforeAll, expect, test } from "vitest";
import { expand, operationsOf, parseDocument, resolve, write } from "../../../openapi/read.ts";
import { grantProductionKey } from "../../../scripts/production-service.ts";
import { ERRORS } from "../../../src/errors.ts";
import { comparisonWith } from "../../support/comparison.ts";
import { useBuiltService } from "../service.ts";
import { valuesOf } from "./values.ts";
import { MAX_BODY_BYTES } from "../../../src/http/body.ts";

/** Of each operation. `.ci/run all` sends more. */
const REQUESTS = Number(process.env["REQUESTS"] ?? 12);
const SEED = Number(process.env["SEED"] ?? 20_261_128);
/** A key may send a thousand requests in a minute, and a creation of a webhook counts as ten. */
const REQUESTS_OF_A_KEY = 500;

const document = parseDocument(readFileSync("public/openapi.json", "utf8"));
const { valid, invalid } = valuesOf(document);
const { differencesOf } = comparisonWith(JSON.parse(write(document)) as typeof document);
const operations = [...operationsOf(document)];

/** The rules that the document has in words only. A request that its schemas allow may break one. */
const IN_WORDS =
  /that this service handed out|words of letters and digits|cannot be beside|of an earlier item|not only white space|an https address of|a time in RFC 3339|has to be UTF-8|address has to be at most/;

/** Succeeds only for a webhook that somebody enabled, that nobody deleted and that replays nothing yet. */
const RARE = new Set(["replayWebhook"]);

const service = useBuiltService();
/** For requests that leave anything behind. */
const other = useBuiltService();
let keys: string[];
beforeAll(async () => {
  const count = Math.ceil((operations.length * REQUESTS) / REQUESTS_OF_A_KEY);
  keys = await Promise.all(Array.from({ length: count }, () => grantProductionKey(service.worker)));
});

interface Sent {
  path: Record<string, string>;
  query: [name: string, value: string][];
  headers: [name: string, value: string][];
  body: unknown;
}

/** A value as the texts of a parameter. A list repeats it. */
const textsOf = (value: unknown): string[] => [value].flat().map((one) => (typeof one === "string" ? one : write(one)));
const pairsOf = (values: object) =>
  Object.entries(values).flatMap(([name, value]) => textsOf(value).map((text): [string, string] => [name, text]));

/** Whether the texts of a parameter break its schema: a query has texts only, so `true` may be a name. */
function isRefused(reference: SchemaObject | ReferenceObject, value: unknown): boolean {
  const schema = expand(document, reference) as SchemaObject;
  const texts = textsOf(value);
  const item = (schema.type === "array" ? schema.items : schema) as SchemaObject;
  const read = texts.map((text) => (item.type === "integer" && /^-?\d+$/.test(text) ? BigInt(text) : text));
  const inRange = read.every((one) => typeof one !== "bigint" || (one >= item.minimum! && one <= item.maximum!));
  const whole = schema.type === "array" ? read.map(asNumber) : read.length === 1 ? asNumber(read[0]) : read;
  // An empty list sends no parameter.
  if (texts.length === 0) return false;
  return !inRange || !new Validator(JSON.parse(write(schema)) as object, "2020-12").validate(whole).valid;
}
const asNumber = (value: unknown) => (typeof value === "bigint" ? Number(value) : value);

/**
 * The requests of an operation.
 *
 * @param broken the query parameter, or `body`, that breaks its schema. None if undefined.
 * @param isBare whether it leaves out the optional parameters, whose conditions rarely hold together.
 */
function requestsOf(
  { parameters = [], requestBody }: OperationObject,
  broken: string | undefined,
  isBare: boolean,
): fc.Arbitrary<Sent> {
  const all = parameters
    .map((one) => resolve<ParameterObject>(document, one))
    .filter(({ required }) => required || !isBare);
  const part = (place: string) => {
    const there = all.filter((parameter) => parameter.in === place);
    const values = there.map(({ name, schema = {}, example }): [string, fc.Arbitrary<unknown>] => [
      name,
      name === broken
        ? invalid(schema).filter((value) => isRefused(schema, value))
        : fc.oneof(valid(schema), example === undefined ? valid(schema) : fc.constant(example as unknown)),
    ]);
    const requiredKeys = there.flatMap(({ name, required }) => (required || name === broken ? [name] : []));
    return fc.record(Object.fromEntries(values), { requiredKeys });
  };
  const [[mediaType, content] = []] = Object.entries((requestBody as RequestBodyObject | undefined)?.content ?? {});
  const schema = content?.schema;
  const body = schema === undefined ? fc.constant(undefined) : broken === "body" ? invalid(schema) : valid(schema);
  return fc.tuple(part("path"), part("query"), part("header"), body).map(([path, query, headers, value]) => ({
    path: Object.fromEntries(pairsOf(path)),
    query: pairsOf(query),
    headers: [
      ...pairsOf(headers),
      ...(mediaType === undefined ? [] : [["Content-Type", mediaType] as [string, string]]),
    ],
    body: value,
  }));
}

/** Every operation in turn, so that each meets what the others leave. */
const plan = Array.from({ length: REQUESTS }, (_, round) =>
  operations.map(([route, operation]) => {
    const names = (operation.parameters ?? [])
      .map((one) => resolve<ParameterObject>(document, one))
      .flatMap(({ in: place, name }) => (place === "query" ? name : []));
    const breakable = [...names, ...(operation.requestBody === undefined ? [] : ["body"])];
    const broken = round % 3 === 2 ? breakable[Math.floor(round / 3) % breakable.length] : undefined;
    return { route, operation, broken, isBare: round % 3 === 1 };
  }),
).flat();

test(`${plan.length} requests made from the document get the responses that it describes`, async () => {
  /** The last ids that responses linked to, by the parameter that takes them. Fields of a body have the same names. */
  const linked = new Map<string, string[]>();
  const outcomes = new Map<string, Set<string>>();
  const faults: string[] = [];
  const linkedOr = (name: string, count: number, otherwise: unknown): unknown => {
    const ids = linked.get(name) ?? [];
    return count % 4 === 0 || ids.length === 0 ? otherwise : BigInt(ids[count % ids.length] ?? 0);
  };
  for (const [count, { route, operation, broken, isBare }] of plan.entries()) {
    const { operationId = "" } = operation;
    const seed = SEED + count;
    const [sent] = fc.sample(requestsOf(operation, broken, isBare), { numRuns: 1, seed }) as [Sent];
    const [method = "", template = ""] = route.split(" ");
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      encodeURIComponent(String(linkedOr(name, count, sent.path[name] ?? ""))),
    );
    const isObject = typeof sent.body === "object" && sent.body !== null && !Array.isArray(sent.body);
    const linkedBody =
      broken === undefined && isObject
        ? Object.fromEntries(
            Object.entries(sent.body ?? {}).map(([name, value]) => [name, linkedOr(name, count, value)]),
          )
        : sent.body;
    const body = linkedBody === undefined ? undefined : write(linkedBody);
    const url = new URL(`/v1${path}?${new URLSearchParams(sent.query).toString()}`, service.url);
    const headers = [
      ...sent.headers,
      ["Authorization", `Bearer ${keys[Math.floor(count / REQUESTS_OF_A_KEY)]}`] as [string, string],
    ];
    const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }) });
    const text = await response.text();
    const { status } = response;
    const differences = differencesOf(method, url.pathname, { status, headers: response.headers, text });
    if (status >= 500) differences.push(`${status}`);
    // A text over its maximum length may make a body that is too long.
    const isTooLong = Buffer.byteLength(body ?? "") > MAX_BODY_BYTES;
    if (broken !== undefined && status !== (isTooLong ? 413 : 400))
      differences.push(`${status} for a request whose ${broken} is wrong`);
    if (broken === undefined && status === 400 && !IN_WORDS.test(text))
      differences.push(`400 for a good request: ${text}`);
    if (differences.length > 0)
      faults.push(
        `SEED ${seed} ${method} ${url.pathname}${url.search.slice(0, 300)} ${body?.slice(0, 300)}: ${differences.join("; ")}`,
      );
    const outcome = broken === undefined ? (status < 400 ? "success" : `${status}`) : "refusal";
    outcomes.set(operationId, (outcomes.get(operationId) ?? new Set()).add(outcome));
    const { links = {} } = resolve<ResponseObject>(document, (operation.responses?.[status] ?? {}) as ResponseObject);
    for (const link of Object.values(links).map((one) => resolve<LinkObject>(document, one))) {
      for (const [name, expression] of Object.entries(link.parameters ?? {})) {
        if (expression !== "$response.body#/id") continue;
        const id = /^\{"id":(-?\d+)/.exec(text)?.[1];
        if (id !== undefined) linked.set(name, [...new Set([...(linked.get(name) ?? []), id])].slice(-5));
      }
    }
  }
  expect(faults.slice(0, 5), `${faults.length} faults`).toEqual([]);
  for (const [name, found] of outcomes) if (!RARE.has(name)) expect([...found], name).toContain("success");
});

// Anything that HTTP permits (RFC 9110, sections 5.5, 5.6.2 and 9.1).
const anyField = fc.stringMatching(/^[\x21-\x7e]([\x20-\x7e\t]{0,60}[\x21-\x7e])?$/);
const anyHeader = fc.oneof(
  fc.constantFrom(
    "Idempotency-Key",
    "x-d1-bookmark",
    "X-Request-Id",
    "Accept",
    "Range",
    "If-None-Match",
    "Cache-Control",
  ),
  fc.stringMatching(/^X-[!#$%&'*+.^_`|~0-9A-Za-z-]{1,12}$/),
);
const anyPath = fc.stringMatching(/^\/[\w.~!$&'()*+,;=:@/%-]{0,40}$/);
/** What spoils a request, in one or two ways. */
const SPOILING = {
  method: fc.constantFrom("HEAD", "PUT", "DELETE", "PATCH", "POST", "OPTIONS", "PROPFIND", "QUERY"),
  path: fc.oneof(
    anyPath,
    anyPath.map((path) => `/v1${path}`),
  ),
  query: fc.stringMatching(/^[\w.~!$'()*+,;:@/?%-]{0,20}$/),
  header: fc.tuple(anyHeader, anyField),
  authorization: fc.constantFrom("", "x", "\u00e9"),
  mediaType: fc.constantFrom("", "text/plain"),
  body: fc.oneof(
    fc.uint8Array({ maxLength: 400 }),
    fc.json().map((text) => Buffer.from(text)),
    fc.integer({ min: 65_000, max: 70_000 }).map((length) => new Uint8Array(length).fill(0x20)),
  ),
  /** Of the body, by their place. */
  bytes: fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 3 }),
  isChunked: fc.constant(true),
};
const spoiling = fc
  .subarray(Object.keys(SPOILING) as (keyof typeof SPOILING)[], { minLength: 1, maxLength: 2 })
  .chain((names) =>
    fc.record(SPOILING).map((all): Partial<typeof all> => Object.fromEntries(names.map((name) => [name, all[name]]))),
  );

test("requests that are spoilt in any way get responses of the service, none of them a 5xx", async () => {
  let key = "";
  const statuses = new Set<number>();
  const spoilings = fc.sample(spoiling, { numRuns: 10 * REQUESTS, seed: SEED });
  for (const [count, { bytes = [], isChunked, ...spoilt }] of spoilings.entries()) {
    if (count % REQUESTS_OF_A_KEY === 0) key = await grantProductionKey(other.worker);
    const [route, operation] = operations[count % operations.length] ?? expect.unreachable();
    const [sent] = fc.sample(requestsOf(operation, undefined, true), { numRuns: 1, seed: SEED + count }) as [Sent];
    const [own = "", template = ""] = route.split(" ");
    const { method = own, query = new URLSearchParams(sent.query).toString() } = spoilt;
    const path = spoilt.path ?? `/v1${template.replaceAll(/\{(\w+)\}/g, (_, name: string) => sent.path[name] ?? "")}`;
    const url = new URL(`${other.url.origin}${path}?${query}`);
    const headers = new Headers(sent.headers);
    headers.set("Authorization", `Bearer ${key}${spoilt.authorization ?? ""}`);
    if (spoilt.mediaType !== undefined) headers.set("Content-Type", spoilt.mediaType);
    if (spoilt.header !== undefined) headers.set(...spoilt.header);
    const body = spoilt.body ?? Buffer.from(sent.body === undefined ? "" : write(sent.body));
    for (const [place, byte] of bytes) if (body.length > 0) body[place % body.length] = byte;
    const whole = isChunked ? new Blob([body]).stream() : (body as BodyInit);
    const hasBody = !["GET", "HEAD"].includes(method) && body.length > 0;
    const response = await fetch(url, { method, headers, ...(hasBody && { body: whole, duplex: "half" }) });
    const [text, { status }] = [await response.text(), response];
    statuses.add(status);
    const what = `${count}: ${method} ${url.href} ${JSON.stringify([...headers])} ${status} ${text.slice(0, 300)}`;
    expect(response.headers.get("X-Request-Id") !== null && status < 500, what).toBe(true);
    if (status < 400 || method === "HEAD") continue;
    const { code, message, ...rest } = JSON.parse(text) as { code: keyof typeof ERRORS; message: string };
    expect([typeof message, rest, ERRORS[code].status], what).toEqual(["string", { status }, status]);
  }
  // They reach all parts of the service.
  expect([...statuses]).toEqual(expect.arrayContaining([200, 201, 400, 401, 404, 405, 413, 415]));
});
