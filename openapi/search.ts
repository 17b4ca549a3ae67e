// What the search of the pages finds: each section of a guide, each operation, and each of its fields and parameters.
import { STATUS_CODES } from "node:http";
import { parse } from "marked";
import type { OpenAPIObject, OperationObject, ParameterObject, SchemaObject } from "openapi3-ts/oas31";
import { type ErrorCode, ERRORS } from "./content.ts";
import { type Guide, guides, startPage } from "./guides.ts";
import { operationsOf, resolve } from "./read.ts";
import { introductionOf } from "./reference.ts";

/** A place in the pages. */
export interface Entry {
  /** The path and the fragment. */
  id: string;
  title: string;
  /** What it belongs to. */
  place: string;
  text: string;
  /** Other words that readers use for it. */
  words?: string;
  /** Those for its whole page. */
  page?: string;
}

/** The words of readers who do not know ours, by the address of what they look for. */
const WORDS: { [address: string]: string } = {
  "/docs#quick-start": "begin, tutorial, example, hello world",
  "/docs/reference#schemas/OrderPatch.shipDate": "date format, time format, timestamp, time zone, ISO 8601",
  "/docs/reference#tag/pets/GET/pets": "search by name, find, filter",
  "/docs/reference#tag/pets/PATCH/pets/{petId}": "update an animal, partial update, merge patch, edit, modify, rename",
  "/docs/reference#tag/pets/POST/pets": "add one animal, create, insert, new",
  "/docs/reference#tag/pets/POST/pets/batch": "create several animals at once, many, bulk, batch, import, upload, mass",
  "/docs/reference#tag/pets/PATCH/pets/batch": "bulk update, batch update, mass update, edit",
  "/docs/reference#tag/categories/PATCH/categories/{categoryId}": "rename a category, edit",
  "/docs/browsers#list-poll-or-listen": "see a sale at once in a shop, real time, realtime, live update",
  "/docs/browsers": "frontend, mobile app, iOS, Android, single-page app, SPA, shopper, end user, publishable key",
  "/docs/browsers#the-customer-of-an-order": "GDPR, personal data, privacy, erasure",
  "/docs/reference#tag/store/POST/store/orders": "buy, sell, purchase, checkout",
  "/docs/reference#tag/store/PATCH/store/orders/{orderId}": "mark an order as shipped, ship, deliver, dispatch, fulfil",
  "/docs/reference#tag/store/DELETE/store/orders/{orderId}": "undo an order, cancel",
  "/docs/reference#tag/store/GET/store/orders":
    "orders of today, orders of yesterday, orders by date, a range of days, period, month",
  "/docs/reference#tag/store/GET/store/inventory": "inventory, stock, statistics, total",
  "/docs/reference#tag/events/GET/events": "feed, stream, history, audit",
  "/docs/agents": "AI, LLM, language model, assistant, chatbot, MCP server, tools, Claude, ChatGPT, Copilot",
  "/docs/agents#settings": "connect an agent, mcp.json, Cursor, Codex, Gemini, VS Code, Inspector",
  "/docs/agents#pages-for-models": "llms.txt, Markdown, robots.txt, sitemap, crawler",
  "/docs/agents#what-it-must-not-believe": "prompt injection",
  "/docs/client": "SDK, library, npm package, TypeScript, JavaScript, Node.js, nodejs",
  "/docs/client#a-receiver-on-your-machine":
    "CLI, command line, tunnel, ngrok, localhost, forward, test a webhook locally",
  "/docs/client#exact-ids": "React Query, TanStack",
  "/docs/client#install": "install the client, npm, package, download",
  "/docs/errors": "request id, support, failure, exception, problem, status code, message",
  "/docs/errors#rate_limited": "limit, quota, throttle",
  "/docs/errors#payload_too_large": "limit, size",
  "/docs/books": "accounting, bookkeeping, ledger, report, finance, revenue",
  "/docs/events": "export all, dump, subscribe, sync, synchronise, mirror, replicate, feed, stream, poll",
  "/docs/guarantees#changed-exactly-once": "ETag, optimistic locking, lost update, concurrency, update, edit",
  "/docs/guarantees#consistency": "read your own writes, replica, lag, stale, eventual, bookmark",
  "/docs/guarantees#created-exactly-once":
    "lost response, timeout, idempotency key, idempotent, retry, duplicate, double click",
  "/docs/guarantees#durability": "backup, data loss",
  "/docs/languages":
    "Java, PHP, Ruby, Perl, R, Lua, Erlang, Tcl, C#, .NET, Rust, Octave, library, SDK in another language",
  "/docs/guarantees#exact-data":
    "ignored field, unknown field, which fields were ignored, exact ids, int64, bigint, 64-bit, precision, rounding, large number, JSON parser",
  "/docs/guarantees#many-animals-in-one-request": "bulk, batch, import a file, CSV, upload, mass",
  "/docs/guarantees#order-and-pages": "paging, pagination, cursor, next page, offset, sort, Link header",
  "/docs/guarantees#preconditions": "If-None-Match, If-Match, 304, not modified, conditional request",
  "/docs/guarantees#reads-that-may-be-old": "cache, caching, max-age",
  "/docs/keys": "authentication, authorization, auth, token, credentials, bearer, secret",
  "/docs/keys#a-new-key": "rotate, rotation, replace, renew, expire, revoke, leak",
  "/docs/keys#getting-a-key": "sandbox, test environment, trial",
  "/docs/keys#keeping-a-key": "API key in a browser, front end, public page",
  "/docs/keys#limits": "rate limit, quota, throttle, maximum, size",
  "/docs/keys#using-a-key": "scope, permission, right, Authorization header",
  "/docs/shop": "shop front, storefront, web shop, website, frontend, checkout page",
  "/docs/imports":
    "import, upsert, synchronize, sync, external id, my own id, SKU, ERP, nightly, csv, duplicates, doubled, twice, bulk load, supplier",
  "/docs/not-offered": "missing, unsupported, not supported, not possible, feature, limitation",
  "/docs/not-offered#refunds-and-returns": "refund, return, money back, give back, chargeback, take back",
  "/docs/not-offered#payments-and-prices":
    "payment, pay, charge a customer, price, cost of an animal, currency, currencies, tax, VAT, discount, coupon, voucher, credit card, PayPal, Stripe",
  "/docs/not-offered#photos-and-files":
    "photo, picture, image, upload a file, attachment, video, description of an animal, breed, age",
  "/docs/not-offered#logins-and-passwords":
    "login, log in, sign in, sign up, register, user, password, forgot password, OAuth, single sign-on, SSO, Google",
  "/docs/not-offered#undo": "undo, restore a deleted animal, undelete, trash, recycle bin, recover, revert, roll back",
  "/docs/not-offered#addresses-carriers-and-mail":
    "address, delivery, carrier, track a parcel, tracking number, parcel, email, send a mail, SMS, newsletter",
  "/docs/not-offered#quantities-and-reservations":
    "quantity, several of one kind, stock of ten, reserve, reservation, hold, expire an order",
  "/docs/not-offered#reviews-and-recommendations":
    "review, rating, stars, wish list, wishlist, recommendation, favourites",
  "/docs/offline": "offline, no network, mobile, phone, app, queue, sync later",
  "/docs/orders": "sell, buy, purchase, sale, checkout, cart, shop, reserve",
  "/docs/orders#the-reference-of-the-shop": "order reference, invoice, order number",
  "/docs/orders#races": "sold twice, two customers buy the same animal, concurrency, race condition, simultaneous",
  "/docs/webhooks#a-failed-event": "missed events, lost event, deliver again",
  "/docs/webhooks#failures": "retries, retry, backoff, outage, receiver is down",
  "/docs/webhooks": "webhook, push, notify, notification, callback, subscribe",
  "/docs/whats-new": "what is new, news, changelog",
  "/docs/versioning": "upgrade, migration, release",
  "/docs/versioning#generated-clients":
    "Python, Go, Java, Ruby, PHP, code generator, Postman, Insomnia, import the document, OpenAPI specification, spec, Swagger",
  "/docs/versioning#breaking-changes": "incompatible, break",
};

/**
 * The entries of the guides and of the document. Fields and parameters share one if their name and the first sentence about them
 * are the same.
 *
 * @throws Error when `WORDS` names an address that no entry has.
 */
export function searchEntries(document: OpenAPIObject): Entry[] {
  const operations = [...operationsOf(document)];
  const entries = [
    {
      id: "/docs/reference#description/introduction",
      title: "Introduction",
      place: "Reference",
      text: introductionOf(document),
    },
    ...[startPage(introductionOf(document)), ...guides].flatMap(sectionsOf),
    ...operations.map(([route, operation]) => operationEntry(route, operation)),
    ...onePerMeaning([
      ...operations.flatMap(([route, operation]) => parametersOf(document, route, operation)),
      ...Object.entries(document.components?.schemas ?? {}).flatMap(([name, schema]) =>
        fieldsOf(document, name, schema as SchemaObject),
      ),
    ]),
  ];
  const unknown = Object.keys(WORDS).filter((address) => !entries.some(({ id }) => id === address));
  if (unknown.length > 0) throw new Error(`No section has the address ${unknown.join(" or ")}`);
  return entries.map((entry) => {
    const words = [entry.words, WORDS[entry.id]].filter((some) => some !== undefined);
    const [path = "", anchor] = entry.id.split("#");
    const page = anchor === undefined ? undefined : WORDS[path];
    return { ...entry, ...(words.length > 0 && { words: words.join(", ") }), ...(page !== undefined && { page }) };
  });
}

/** The page itself, with the text before its first section, and each section. */
function sectionsOf({ path, title, html }: Guide): Entry[] {
  return html.split(/(?=<h[1-3] )/).map((part) => {
    const [, level, anchor = "", heading = "", rest = ""] =
      /^<h([1-3]) id="([\w-]+)">(.*?)<\/h\1>(.*)$/s.exec(part) ?? [];
    const text = plain(rest);
    if (level === "1") return { id: path, title: plain(heading), place: "Guide", text };
    const section = { id: `${path}#${anchor}`, title: plain(heading), place: title, text };
    if (!(anchor in ERRORS)) return section;
    const { status } = ERRORS[anchor as ErrorCode];
    return {
      ...section,
      title: `${status} ${anchor}`,
      text: text.replace(/^\d+ /, ""),
      words: STATUS_CODES[status] ?? "",
    };
  });
}

function operationEntry(
  route: string,
  { operationId = "", summary = "", description = "", tags }: OperationObject,
): Entry {
  return {
    id: addressOf(route, tags),
    title: summary,
    place: route,
    text: plainMarkdown(description),
    words: operationId,
  };
}

function parametersOf(
  document: OpenAPIObject,
  route: string,
  { parameters = [], tags, summary }: OperationObject,
): Entry[] {
  const folders: { [place: string]: string } = { path: "path", query: "query", header: "headers" };
  return parameters.map((parameter) => {
    const { name, in: place, description = "" } = resolve<ParameterObject>(document, parameter);
    const id = `${addressOf(route, tags)}.${folders[place]}.${name}`;
    return { id, title: name, place: `Parameter: ${summary}`, text: plainMarkdown(description) };
  });
}

function fieldsOf(document: OpenAPIObject, schema: string, { properties = {} }: SchemaObject): Entry[] {
  return Object.entries(properties).map(([name, property]) => {
    const { description = "" } = resolve<SchemaObject>(document, property);
    return {
      id: `/docs/reference#schemas/${schema}.${name}`,
      title: name,
      place: `Field: ${schema}`,
      text: plainMarkdown(description),
    };
  });
}

const onePerMeaning = (entries: Entry[]): Entry[] => [
  ...new Map(entries.toReversed().map((entry) => [`${entry.title} ${entry.text.split(". ")[0]}`, entry])).values(),
];

/** Where the renderer shows an operation, for a route such as `GET /pets`. */
const addressOf = (route: string, [tag = ""]: string[] = []) =>
  `/docs/reference#tag/${tag.toLowerCase()}/${route.replace(" ", "")}`;

const INLINE = ["a", "code", "em", "strong", "wbr"];
const ENTITIES: { [entity: string]: string } = { "&lt;": "<", "&gt;": ">", "&quot;": '"', "&#39;": "'", "&amp;": "&" };

/** The words of HTML in one line, without its blocks of code, drawings, heads of tables and list of sections. */
function plain(html: string): string {
  return html
    .replaceAll(/<(pre|nav|svg|thead)\b.*?<\/\1>/gs, " ")
    .replaceAll(/<\/?([a-z]\w*)[^>]*>/g, (_, tag: string) => (INLINE.includes(tag) ? "" : " "))
    .replaceAll(/&\w+;|&#\d+;/g, (entity) => ENTITIES[entity] ?? entity)
    .replaceAll(/\s+/g, " ")
    .trim();
}

const plainMarkdown = (markdown: string): string => plain(parse(markdown, { async: false }));
