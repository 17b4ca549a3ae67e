import type { operations } from "../../client/src/schema.ts";
import document from "../../public/openapi.json" with { type: "json" };
import { decodeCursor } from "../../src/http/cursor.ts";
import { type Answer, failure, type Model, type Preconditions, TIMELESS, type View } from "../model/model.ts";
import type { Exchange } from "./history.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

/** `next` is the id after which the next page of a list begins, or "none". */
export type Expected = Answer & { next?: string };
/** What a request asks of the model. Undefined for a request that no state allows. */
export type Question = (model: Model, at: number) => Expected;

type Ask = (request: Asked) => Question;

/** The operations that the model answers. test/world/deliveries.ts judges webhooks. */
export type Simulated = Exclude<
  keyof operations,
  `${string}Webhook${string}` | "stopReplay" | "listDeliveries" | `receive${string}`
>;

/** How the model answers each of these operations. */
const QUESTIONS: { [operationId in Simulated]: Ask | "judged elsewhere" } = {
  createPet:
    ({ body, key }) =>
    (model) =>
      model.createPet(body as never, key),
  createPets:
    ({ body, key }) =>
    (model) =>
      model.createPets(body as never, key),
  createCategory:
    ({ body, key }) =>
    (model) =>
      model.createCategory(body as never, key),
  placeOrder:
    ({ body, key }) =>
    (model) =>
      model.placeOrder({ ...body, petId: Number(body["petId"]) }, key),
  updatePet:
    ({ id, body, met, key }) =>
    (model) =>
      model.patchPet(id, body, met, key),
  updatePets:
    ({ body, key }) =>
    (model) =>
      model.patchPets(body as never, key),
  updateCategory:
    ({ id, body, met, key }) =>
    (model) =>
      model.patchCategory(id, body, met, key),
  updateOrder:
    ({ id, body, met, key }) =>
    (model, at) =>
      model.patchOrder(id, body, met, key, new Date(Math.floor(at)).toISOString()),
  deletePet:
    ({ id, met }) =>
    (model) =>
      model.deletePet(id, met),
  deleteCategory:
    ({ id, met }) =>
    (model) =>
      model.deleteCategory(id, met),
  cancelOrder:
    ({ id, met }) =>
    (model) =>
      model.cancelOrder(id, met),
  getPet:
    ({ id, met }) =>
    (model) =>
      model.getPet(id, met),
  getCategory:
    ({ id, met }) =>
    (model) =>
      model.getCategory(id, met),
  getOrder:
    ({ id, met }) =>
    (model) =>
      model.getOrder(id, met),
  listPets:
    ({ query }) =>
    (model) => {
      const ids = query.has("id") ? query.getAll("id").map(Number) : undefined;
      const categoryId = query.get("categoryId") ?? undefined;
      return pageOf(
        model.listPets(
          { status: (query.get("status") ?? undefined) as never, categoryId, ids, q: query.get("q") ?? undefined },
          viewOf(query),
        ),
        query,
      );
    },
  listCategories:
    ({ query }) =>
    (model) =>
      pageOf(model.listCategories(viewOf(query)), query),
  listOrders:
    ({ query }) =>
    (model) => {
      const petId = query.has("petId") ? Number(query.get("petId")) : undefined;
      const [status, reference] = [query.get("status") ?? undefined, query.get("reference") ?? undefined];
      return pageOf(model.listOrders({ status, petId, reference }, viewOf(query)), query);
    },
  getInventory: () => (model, at) => model.inventory(Math.floor(at)),
  // test/world/feed.ts
  listEvents: "judged elsewhere",
  // No request can change it.
  getKey: "judged elsewhere",
};

/** The operations of the document. A path without parameters comes before one that also matches it. */
const OPERATIONS = Object.entries(document.paths as { [path: string]: { [method: string]: { operationId: string } } })
  .toSorted(([a], [b]) => Number(a.includes("{")) - Number(b.includes("{")))
  .map(([path, methods]) => ({ pattern: new RegExp(`^/v1${path.replace(/\{\w+\}/g, "(\\d+)")}$`), methods }));

/** A request in the terms of the model. */
interface Asked {
  id: number;
  body: { [field: string]: unknown };
  query: URLSearchParams;
  met: Preconditions;
  /** With the API key that it belongs to. */
  key: string | undefined;
}

/**
 * What a request asks of the model, or undefined when another checker judges its operation.
 *
 * @throws Error for a request of no operation, unless every state refuses it.
 */
export function questionOf({ method, path, headers, body, apiKey, refusal }: Exchange): Question | undefined {
  const [pathname = "", search = ""] = path.split("?");
  const found = OPERATIONS.find(({ pattern }) => pattern.test(pathname));
  const operationId = found?.methods[method.toLowerCase()]?.operationId as Simulated | undefined;
  if (operationId === undefined) {
    if (refusal !== undefined) return undefined;
    throw new Error(`${method} ${path} is no operation of the document`);
  }
  const ask = QUESTIONS[operationId];
  if (ask === undefined || ask === "judged elsewhere") return undefined;
  const key = headers["Idempotency-Key"];
  return ask({
    id: Number(found?.pattern.exec(pathname)?.[1]),
    body: body === undefined ? {} : parse(body),
    query: new URLSearchParams(search),
    met: { ifMatch: any(tagsOf(headers["If-Match"])), ifNoneMatch: tagsOf(headers["If-None-Match"]) },
    key: key === undefined ? undefined : `${apiKey} ${key}`,
  });
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

function pageOf(items: string[], query: URLSearchParams): Expected {
  const limit = Number(query.get("limit") ?? 20);
  const cursor = decodeCursor(query.get("cursor") ?? "");
  const after = Number(cursor?.after);
  const rest =
    cursor === undefined
      ? items
      : items.filter((item) => (cursor.sort === "id" ? idOf(item) > after : idOf(item) < after));
  const page = rest.slice(0, limit);
  return {
    status: 200,
    body: `[${page.join()}]`,
    next: rest.length > limit ? String(idOf(page.at(-1) ?? "")) : "none",
  };
}

/** The response of an exchange, in the terms of the model. */
export function answerOf({ status = 0, responseHeaders, text = "" }: Exchange): Expected {
  const [etag, location] = [responseHeaders?.get("ETag"), responseHeaders?.get("Location")];
  return {
    status,
    body: status < 400 ? text.replaceAll(/"createdAt":"[^"]+"/g, `"createdAt":"${TIMELESS}"`) : codeOf(text),
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
