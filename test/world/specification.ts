import { ROWS } from "../../register/operations.ts";
import type { OperationId } from "../../register/row.ts";
import type { Asked } from "../../register/simulated.ts";
import { parseDocument, write } from "../../openapi/read.ts";
import { git } from "../../scripts/git.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { decodeCursor } from "../../src/http/cursor.ts";
import { type Answer, failure, type Model, type Preconditions, type View } from "../model/model.ts";
import type { Exchange } from "./history.ts";
import { PRESENT } from "./world.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

/** `next` is the id after which the next page of a list begins, or "none". */
export type Expected = Answer & { next?: string };
/**
 * What a request asks of the model. A page of a search may end early: then `end` is the place that its response names. Undefined for a
 * request that no state allows.
 */
export type Question = (model: Model, at: number, end?: string) => Expected;

interface Operation {
  operationId: string;
  parameters?: { name?: string }[];
  requestBody?: { content: { [mediaType: string]: { schema: { $ref: string } } } };
}
interface Schema {
  items?: { $ref: string };
  properties?: object;
}
interface Paths {
  [path: string]: { [method: string]: Operation };
}

/** The operations of a document. A path without parameters comes before one that also matches it. */
const operationsOf = (paths: Paths) =>
  Object.entries(paths)
    .toSorted(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
    .map(([path, methods]) => ({ pattern: new RegExp(`^/v1${path.replace(/\{\w+\}/g, "(\\d+)")}$`), methods }));
const OPERATIONS = operationsOf(document.paths as object as Paths);

interface Released {
  operations: ReturnType<typeof operationsOf>;
  schemas: { [name: string]: Schema };
}
const released = new Map<string, Released>();

/** What a commit knows: the document of a release is in its commit, and in those after it. */
function releasedAt(commit: string): Released {
  const known = released.get(commit);
  if (known !== undefined) return known;
  const { paths, components } = JSON.parse(git("show", `${commit}:openapi/released.json`)) as typeof document;
  const read = {
    operations: operationsOf(paths as object as Paths),
    schemas: components.schemas as Released["schemas"],
  };
  released.set(commit, read);
  return read;
}

/** A request without the parameters and the fields that are new since a commit, which ignores them. */
export function asReleased<Request extends Pick<Exchange, "method" | "path" | "body">>(
  request: Request,
  commit: string,
): Request {
  const { operations, schemas } = releasedAt(commit);
  const [pathname = "", search] = request.path.split("?");
  const { methods } = operations.find(({ pattern }) => pattern.test(pathname)) ?? {};
  const operation = methods?.[request.method.toLowerCase()];
  if (operation === undefined) return request;
  const isKnown = (parameter: string) => operation.parameters?.some(({ name }) => parameter.startsWith(`${name}=`));
  const path = [pathname, search?.split("&").filter(isKnown).join("&")].filter(Boolean).join("?");
  const [content] = Object.values(operation.requestBody?.content ?? {});
  if (request.body === undefined || content === undefined) return { ...request, path };
  const schemaOf = ({ $ref }: { $ref: string }): Schema => schemas[$ref.split("/").at(-1) ?? ""] ?? {};
  const { items, ...one } = schemaOf(content.schema);
  const { properties = {} } = items === undefined ? one : schemaOf(items);
  const known = (item: object) => Object.fromEntries(Object.entries(item).filter(([name]) => name in properties));
  const body: unknown = parseDocument(request.body);
  return { ...request, path, body: write(Array.isArray(body) ? body.map(known) : known(body as object)) };
}

/**
 * What a request asks of the model, or undefined when another checker judges its operation.
 *
 * @throws Error for a request of no operation, unless every state refuses it.
 */
export function questionOf(exchange: Exchange): Question | undefined {
  const { version } = exchange;
  const isPresent = version === PRESENT;
  const known = isPresent ? undefined : releasedAt(version).schemas["Animal"]?.properties;
  const { method, path, headers, body, apiKey, token, refusal } = isPresent ? exchange : asReleased(exchange, version);
  const [pathname = "", search = ""] = path.split("?");
  const found = OPERATIONS.find(({ pattern }) => pattern.test(pathname));
  const operationId = found?.methods[method.toLowerCase()]?.operationId as OperationId | undefined;
  if (operationId === undefined) {
    if (refusal !== undefined) return undefined;
    throw new Error(`${method} ${path} is no operation of the document`);
  }
  const { world } = ROWS[operationId];
  if (typeof world === "string" || world.answer === "judged elsewhere") return undefined;
  const { answer } = world;
  const key = headers["Idempotency-Key"];
  const query = new URLSearchParams(search);
  const asked = {
    id: Number(found?.pattern.exec(pathname)?.[1]),
    body: body === undefined ? {} : parse(body),
    query,
    view: viewOf(query),
    met: { ifMatch: any(tagsOf(headers["If-Match"])), ifNoneMatch: tagsOf(headers["If-None-Match"]) },
    // Customers of a key share none.
    key: key === undefined ? undefined : [apiKey, ...(token === undefined ? [] : [token.customer]), key].join(" "),
    token,
  };
  return (model, at, end) => {
    model.known = known;
    const answered = answer(asked, model, at);
    return Array.isArray(answered) ? pageOf(answered, query, end) : answered;
  };
}

/** With the digits of a category, which the model keeps. */
export function parse(body: string): Asked["body"] {
  return JSON.parse(body.replaceAll(/"categoryId":(-?\d+)/g, '"categoryId":"$1"'));
}

function tagsOf(header: string | undefined): Preconditions["ifNoneMatch"] {
  if (header === undefined || header === "*") return header;
  return [...header.matchAll(/"(\d+)"/g)].map(([, version]) => Number(version));
}

const any = (tags: Preconditions["ifNoneMatch"]) => (tags === "*" ? undefined : tags);

const viewOf = (query: URLSearchParams): View => ({
  sort: (query.get("sort") ?? undefined) as View["sort"],
  include: (query.get("include") ?? undefined) as View["include"],
});

const idOf = (item: string) => Number(/^\{"id":(\d+)/.exec(item)?.[1]);

function pageOf(items: string[], query: URLSearchParams, end?: string): Expected {
  const limit = Number(query.get("limit") ?? 20);
  const cursor = decodeCursor(query.get("cursor") ?? "");
  const isAfter = (id: number, place: number) => (query.get("sort") === "-id" ? id < place : id > place);
  const rest = items.filter((item) => cursor === undefined || isAfter(idOf(item), Number(cursor.after)));
  const isAhead = end !== undefined && (cursor === undefined || isAfter(Number(end), Number(cursor.after)));
  const page = rest.filter((item) => !isAhead || !isAfter(idOf(item), Number(end))).slice(0, limit);
  const last = rest.length > limit ? String(idOf(page.at(-1) ?? "")) : "none";
  return { status: 200, body: `[${page.join()}]`, next: isAhead ? end : last };
}

/** The response of an exchange, in the terms of the model. */
export function answerOf({ status = 0, responseHeaders, text = "" }: Exchange): Expected {
  const [etag, location] = [responseHeaders?.get("ETag"), responseHeaders?.get("Location")];
  return {
    status,
    body: status < 400 ? text : codeOf(text),
    ...(etag != null && { etag }),
    ...(location != null && { location }),
    ...(responseHeaders?.has("Idempotency-Replayed") && { replayed: true as const }),
    ...(status === 200 && text.startsWith("[") && { next: nextOf(responseHeaders) }),
  };
}

function nextOf(headers: Headers | undefined): string {
  const cursor = /[?&]cursor=([^&>]*)[^>]*>; rel="next"/.exec(headers?.get("Link") ?? "")?.[1];
  return cursor === undefined ? "none" : String(decodeCursor(cursor)?.after);
}

export const codeOf = (text: string) => /"code":"(\w+)"/.exec(text)?.[1] ?? "";

export const unavailable = failure(503, "service_unavailable");
