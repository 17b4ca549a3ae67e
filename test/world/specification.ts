import { decodeCursor } from "../../src/http/cursor.ts";
import { type Answer, failure, type Model, type Preconditions, TIMELESS, type View } from "../model/model.ts";
import type { Exchange } from "./history.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

/** `next` is the id after which the next page of a list begins, or "none". */
export type Expected = Answer & { next?: string };
/** What a request asks of the model. Undefined for a request that no state allows. */
export type Question = (model: Model, at: number) => Expected;

/** The operations, by their method and path. A new operation gets a line here. */
const QUESTIONS: [method: string, path: RegExp, ask: (request: Asked) => Question][] = [
  [
    "POST",
    /^\/pets$/,
    ({ body, key }) =>
      (model) =>
        model.createPet(body as never, key),
  ],
  [
    "POST",
    /^\/pets\/batch$/,
    ({ body, key }) =>
      (model) =>
        model.createPets(body as never, key),
  ],
  [
    "POST",
    /^\/categories$/,
    ({ body, key }) =>
      (model) =>
        model.createCategory(body as never, key),
  ],
  [
    "POST",
    /^\/store\/orders$/,
    ({ body, key }) =>
      (model) =>
        model.placeOrder({ petId: Number(body["petId"]) }, key),
  ],
  [
    "PATCH",
    /^\/pets\/(\d+)$/,
    ({ id, body, met, key }) =>
      (model) =>
        model.patchPet(id, body, met, key),
  ],
  [
    "PATCH",
    /^\/categories\/(\d+)$/,
    ({ id, body, met, key }) =>
      (model) =>
        model.patchCategory(id, body, met, key),
  ],
  [
    "PATCH",
    /^\/store\/orders\/(\d+)$/,
    ({ id, body, met, key }) =>
      (model, at) =>
        model.shipOrder(id, body["shipDate"] as string | undefined, met, key, new Date(Math.floor(at)).toISOString()),
  ],
  [
    "DELETE",
    /^\/pets\/(\d+)$/,
    ({ id, met }) =>
      (model) =>
        model.deletePet(id, met),
  ],
  [
    "DELETE",
    /^\/categories\/(\d+)$/,
    ({ id, met }) =>
      (model) =>
        model.deleteCategory(id, met),
  ],
  [
    "DELETE",
    /^\/store\/orders\/(\d+)$/,
    ({ id, met }) =>
      (model) =>
        model.cancelOrder(id, met),
  ],
  [
    "GET",
    /^\/pets\/(\d+)$/,
    ({ id, met }) =>
      (model) =>
        model.getPet(id, met),
  ],
  [
    "GET",
    /^\/categories\/(\d+)$/,
    ({ id, met }) =>
      (model) =>
        model.getCategory(id, met),
  ],
  [
    "GET",
    /^\/store\/orders\/(\d+)$/,
    ({ id, met }) =>
      (model) =>
        model.getOrder(id, met),
  ],
  [
    "GET",
    /^\/pets$/,
    ({ query }) =>
      (model) => {
        const ids = query.has("id") ? query.getAll("id").map(Number) : undefined;
        const categoryId = query.get("categoryId") ?? undefined;
        return pageOf(
          model.listPets({ status: (query.get("status") ?? undefined) as never, categoryId, ids }, viewOf(query)),
          query,
        );
      },
  ],
  [
    "GET",
    /^\/categories$/,
    ({ query }) =>
      (model) =>
        pageOf(model.listCategories(viewOf(query)), query),
  ],
  [
    "GET",
    /^\/store\/orders$/,
    ({ query }) =>
      (model) => {
        const petId = query.has("petId") ? Number(query.get("petId")) : undefined;
        return pageOf(model.listOrders({ status: query.get("status") ?? undefined, petId }, viewOf(query)), query);
      },
  ],
  [
    "GET",
    /^\/store\/inventory$/,
    () => (model) => {
      const statuses = ["available", "pending", "sold"];
      const all = [...model.pets.values()];
      const counts = statuses.map((one) => `"${one}":${all.filter(({ status }) => status === one).length}`);
      return { status: 200, body: `{${counts.join()}}` };
    },
  ],
];

/** A request in the terms of the model. */
interface Asked {
  id: number;
  body: { [field: string]: unknown };
  query: URLSearchParams;
  met: Preconditions;
  /** With the API key that it belongs to. */
  key: string | undefined;
}

export function questionOf({ method, path, headers, body, apiKey }: Exchange): Question | undefined {
  const [pathname = "", search = ""] = path.split("?");
  for (const [asked, pattern, ask] of QUESTIONS) {
    const match = asked === method ? pattern.exec(pathname.replace(/^\/v1/, "")) : null;
    if (match === null) continue;
    const key = headers["Idempotency-Key"];
    return ask({
      id: Number(match[1]),
      body: body === undefined ? {} : parse(body),
      query: new URLSearchParams(search),
      met: { ifMatch: any(tagsOf(headers["If-Match"])), ifNoneMatch: tagsOf(headers["If-None-Match"]) },
      key: key === undefined ? undefined : `${apiKey} ${key}`,
    });
  }
  return undefined;
}

/** With the digits of a category, which the model keeps. */
function parse(body: string): Asked["body"] {
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
