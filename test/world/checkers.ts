import { isDeepStrictEqual } from "node:util";
import type { OpenAPIObject } from "openapi3-ts/oas31";
import { LIFETIME_SECONDS } from "../../src/idempotency/purge.ts";
import { Model } from "../model/model.ts";
import { TRANSIENT_ERRORS } from "../support/d1-errors.ts";
import { agentsSeeEveryWrite, toldOf } from "./agents.ts";
import { comparisonWith } from "../support/comparison.ts";
import { bookmarkOf, stateOf } from "./d1.ts";
import { deliveriesAreExact } from "./deliveries.ts";
import { copiesAreTrue, feedIsExact, leavesItsEvents } from "./feed.ts";
import type { Exchange, History } from "./history.ts";
import { listenersHearTheirs } from "./listeners.ts";
import { LARGEST_SKEW } from "./service.ts";
import { answerOf, codeOf, type Question, questionOf, unavailable } from "./specification.ts";
import { type Outcome, PRESENT, SMALL } from "./world.ts";

/** A breach of a guarantee, with the request that shows it. */
export interface Violation {
  checker: string;
  message: string;
  exchange?: Exchange | undefined;
}

export type Finding = Omit<Violation, "checker">;
type Checker = (outcome: Outcome) => Iterable<Finding>;

/** The longest time until a revocation or a new key reaches every isolate (docs/managing-keys.md), in milliseconds. */
export const REVOCATION = 120_000;
export const ADMISSION = 60_000 + 35_000;
/** Retries of a change by the service. */
const MAX_RETRIES = 2;
/** Seconds that a read may be old, at most. */
const MAX_AGE = 60;
/** Milliseconds for which an isolate returns its last count of the animals, while one of its requests asks for the next one. */
const LAST_COUNT = 40_000;

const bookmarkIn = ({ responseHeaders }: Exchange) => responseHeaders?.get("x-d1-bookmark") ?? undefined;
/** test/world/deliveries.ts judges them. */
const isOfWebhooks = ({ path }: Exchange) => path.startsWith("/v1/webhooks");
const isRead = ({ method }: Exchange) => method === "GET";
/** The service stores its counts of the animals. */
const isCount = ({ method, path }: Exchange) => method === "GET" && path === "/v1/store/inventory";
const ran = ({ trips }: Exchange) => trips.filter(({ instance }) => instance !== undefined);

// Promise: races-of-orders
/**
 * Every response is that of the model, which runs the transactions in the order of the primary. A change gets the response of its own
 * transaction, and happens once under its key. A read gets that of the state of its bookmark, and a list everything that is there.
 * A count of the animals is that of a moment, and not older than its `Age`.
 */
function* oneAfterAnother(outcome: Outcome): Generator<Finding> {
  const { history, database, feed } = outcome;
  let model = new Model();
  const copies = new Map<number, Model>();
  const counts = new Set<NonNullable<Model["count"]>>();
  const questions = new Map<Exchange, Question | undefined>();
  const questionFor = (exchange: Exchange) => {
    if (!questions.has(exchange)) questions.set(exchange, questionOf(exchange));
    return questions.get(exchange);
  };
  /** The reads of each state. */
  const reads = Map.groupBy(
    history.exchanges.filter(
      (one) => isRead(one) && !isCount(one) && one.status !== undefined && stateRead(one) !== undefined,
    ),
    (one) => stateRead(one) as number,
  );
  const answers = new Map<Exchange, ReturnType<Question>>();
  function* readsOf(state: number): Generator<Finding> {
    for (const exchange of reads.get(state) ?? []) {
      const question = questionFor(exchange);
      if (question === undefined || exchange.refusal !== undefined) continue;
      yield* compare(exchange, question(model, 0, endOfSearch(exchange)), `at state ${state}`);
      yield* pageIsFull(exchange, feed[state]?.waiting);
    }
    reads.delete(state);
  }
  yield* readsOf(0);
  for (const event of history.events) {
    if (event.kind === "occurrence") {
      if (event.snapshot !== undefined) copies.set(event.snapshot, model.copy());
      if (event.restored !== undefined) {
        const before = model.counters;
        model = (copies.get(event.restored) as Model).copy();
        if (event.counters !== undefined) {
          for (const [table, last] of [...Object.entries(before), ...Object.entries(model.counters)]) {
            const { [table]: raised = 0 } = event.counters;
            if (raised <= last) yield { message: `The restore gives out the ids of ${table} after ${raised} again.` };
          }
          model.raise(event.counters);
          model.count = undefined;
        }
      }
      for (const { apiKeyId, key } of event.forgotten ?? []) model.forget(`${apiKeyId} ${key}`);
      if (event.state !== undefined) yield* readsOf(event.state);
    } else if (event.kind === "trip" && event.instance !== undefined) {
      const { exchange } = event;
      const question = questionFor(exchange);
      if (isRead(exchange) && !isCount(exchange)) {
        if (event.after !== event.before) yield { exchange, message: "A read changed the database." };
      } else if (isOfWebhooks(exchange)) {
        if (event.after !== event.before && feed[event.after]?.added.length !== 0)
          yield { exchange, message: "A webhook leaves an event." };
      } else if (question === undefined || exchange.refusal !== undefined) {
        yield { exchange, message: "A request that cannot succeed reached the database." };
      } else {
        answers.set(exchange, question(model, event.at));
        yield* leavesItsEvents(event, model.feed.splice(0), outcome);
        if (model.count !== undefined) counts.add(model.count);
      }
      yield* readsOf(event.after);
    } else if (event.kind === "response" && isCount(event.exchange) && event.exchange.status === 200) {
      yield* countOf(event.exchange, counts, answers.get(event.exchange), history);
    } else if (event.kind === "response" && !isRead(event.exchange) && event.exchange.status !== undefined) {
      const { exchange } = event;
      const last = exchange.trips.at(-1);
      const answer = last?.failure === undefined ? answers.get(exchange) : unavailable;
      if (answer !== undefined) yield* compare(exchange, answer, "after its transaction");
    }
  }
  for (const [state, left] of reads) {
    yield {
      exchange: left[0],
      message: `The bookmark of the response names state ${state}, which no transaction made.`,
    };
  }
  for (const name of ["pets", "categories", "orders"] as const) {
    const told = new Set(Array.from(model[name].values(), write));
    const stored = new Set((database[name] ?? []).map(write));
    const only = (some: Set<string>, others: Set<string>) => [...some.difference(others)].slice(0, MAX_ROWS).join(" ");
    const [missing, unexpected] = [only(told, stored), only(stored, told)];
    if (missing !== unexpected) {
      yield {
        message: `The responses tell of rows of ${name} that are not there, ${missing}, and others are: ${unexpected}`,
      };
    }
  }
}

/** Whether a count is that of its transaction, or of one in the time that its `Age` tells. */
function* countOf(
  exchange: Exchange,
  counts: Iterable<NonNullable<Model["count"]>>,
  answer: ReturnType<Question> | undefined,
  { faults }: History,
): Generator<Finding> {
  if (answer !== undefined) yield* compare(exchange, answer, "after its transaction");
  const { sentAt, respondedAt = 0, responseHeaders, text } = exchange;
  const age = Number(responseHeaders?.get("Age") ?? Number.NaN);
  const jump = faults.has("clock jumps") ? 2 * LARGEST_SKEW : 0;
  // `Age` has whole seconds.
  const oldest = respondedAt - (age + 1) * 1000 - jump;
  const isTrue = [...counts].some(({ body, at }) => body === text && at >= oldest && at <= respondedAt);
  // The age of a count from the database begins before the request for it.
  const most = LAST_COUNT + jump + (answer === undefined ? 0 : respondedAt - sentAt);
  if (!isTrue || age * 1000 > most)
    yield {
      exchange,
      message: `No count from ${oldest} to ${respondedAt} is ${text}, or the age of ${age} is too high.`,
    };
}

/** Rows of each kind that a message shows at most. */
const MAX_ROWS = 2;

/** A row, whatever the order of its fields. Integers are texts. */
const write = (row: object) =>
  JSON.stringify(
    Object.entries(row)
      .map(([field, value]: [string, unknown]) => [field, typeof value === "number" ? String(value) : value])
      .toSorted(([a], [b]) => (String(a) < String(b) ? -1 : 1)),
  );

/** The state that a read has seen: that of its transaction, or else that of its bookmark, if it comes from memory. */
function stateRead(exchange: Exchange): number | undefined {
  const last = ran(exchange).at(-1);
  if (exchange.status === 503) return undefined;
  if (last !== undefined) return last.after;
  const bookmark = bookmarkIn(exchange);
  return bookmark === undefined || bookmark === exchange.headers["x-d1-bookmark"] ? undefined : stateOf(bookmark);
}

function* compare(exchange: Exchange, answered: ReturnType<Question>, when: string): Generator<Finding> {
  const expected = exchange.isTool ? toldOf(answered) : answered;
  if (exchange.version !== PRESENT) {
    // It may have fewer headers. What it says has to be true.
    const { status, body } = answerOf(exchange);
    const isConditional = exchange.headers["If-Match"] ?? exchange.headers["If-None-Match"];
    const isKnown = ![404, 405].includes(status) && isConditional === undefined;
    if (isKnown && (status !== expected.status || body !== expected.body)) {
      yield {
        exchange,
        message: `The earlier version responds ${status} ${body}, and ${when} it has to be ${expected.status} ${expected.body}.`,
      };
    }
    return;
  }
  const { next: _expected, ...rest } = expected;
  const { next, ...answer } = answerOf(exchange);
  const more = expected.next === undefined ? [rest, answer] : [expected, { ...answer, next }];
  if (!isDeepStrictEqual(more[0], more[1])) {
    yield {
      exchange,
      message: `The response is ${JSON.stringify(more[1])}, and ${when} it has to be ${JSON.stringify(more[0])}.`,
    };
  }
}

const isSearch = ({ path }: Exchange) => /^\/v1\/pets\?(?:.*&)?q=/.test(path);

/** Where the page of a search ends, if it may end before it is full. Everything up to there is on it. */
function endOfSearch(exchange: Exchange): string | undefined {
  const { next } = answerOf(exchange);
  return exchange.hasSmallBounds && isSearch(exchange) && next !== "none" ? next : undefined;
}

// Promise: searches-read-few-rows
/** While the index is current, a page of a search for one word ends early only after as many animals as a request examines. */
function* pageIsFull(exchange: Exchange, waiting = Infinity): Generator<Finding> {
  if (!exchange.hasSmallBounds || !isSearch(exchange) || waiting > SMALL.changes) return;
  const query = new URLSearchParams(exchange.path.split("?")[1]);
  const isPlain =
    /^[a-z]+$/i.test(query.get("q") ?? "") && !["status", "categoryId", "id"].some((one) => query.has(one));
  const { body, next } = answerOf(exchange);
  const found = body.match(/\{"id"/g)?.length ?? 0;
  const least = Math.min(Number(query.get("limit") ?? 20), SMALL.window - SMALL.changes);
  if (isPlain && found < least && next !== "none" && next !== undefined)
    yield {
      exchange,
      message: `The page ends with ${found} animals at ${next}, and the index lacks ${waiting} events only.`,
    };
}

/** How many searches met each state of the index. */
export function searchesIn({ history, feed }: Outcome): Map<string, number> {
  const stateOfIndex = ({ trips, hasSmallBounds }: Exchange) => {
    const { waiting } = feed[trips.at(-1)?.after ?? 0] ?? {};
    if (waiting === undefined) return "is not ready";
    return waiting === 0 ? "is up to date" : hasSmallBounds && waiting > SMALL.changes ? "is far behind" : "is behind";
  };
  const searches = history.exchanges.filter((one) => isSearch(one) && one.status === 200);
  const kinds = Map.groupBy(searches, (one) => `searches whose index ${stateOfIndex(one)}, ${one.version}`);
  return new Map([...kinds].map(([kind, { length }]) => [kind, length]));
}

// Promise: bookmarks-are-true
/** A bookmark names the state that its response has seen or made. Only one that a client made up is newer. */
function* bookmarksAreTrue({ history }: Outcome): Generator<Finding> {
  for (const exchange of history.exchanges) {
    const last = exchange.trips.at(-1);
    const bookmark = bookmarkIn(exchange);
    // An object that does not answer is a failure of storage, which has no bookmark.
    const isFailed = last?.failure !== undefined || exchange.faults.includes("object");
    if (exchange.isTool || exchange.status === undefined || last?.instance === undefined || isFailed) continue;
    const sent = exchange.headers["x-d1-bookmark"] ?? "";
    const reached = bookmarkOf(last.after);
    const isMadeUp = bookmark === sent && sent > reached && isRead(exchange);
    if (bookmark !== reached && !isMadeUp) {
      yield { exchange, message: `The response has seen state ${last.after}, and its bookmark is ${bookmark}.` };
    }
  }
}

// Promise: bookmarks-move-forward, sessions
/** A read with a bookmark sees at least its state. Each session sees what its earlier requests saw or wrote. */
function* sessionsNeverGoBack({ history }: Outcome): Generator<Finding> {
  /** The newest bookmark that each session has received. */
  const newest = new Map<string, string>();
  const needed = new Map<Exchange, string>();
  /** By call: its retries repeat its bookmark. */
  const starts = new Map<string, string | undefined>();
  const last = history.events.reduce((state, event) => ("after" in event ? Math.max(state, event.after) : state), 0);
  // In the order in which clients see it.
  const events = history.exchanges
    .flatMap((exchange) => [
      { at: exchange.sentAt, exchange, isSent: true },
      { at: exchange.receivedAt ?? Infinity, exchange, isSent: false },
    ])
    .toSorted((a, b) => a.at - b.at);
  const goesOn = history.events.flatMap((event) =>
    event.kind === "occurrence" && event.session !== undefined ? [[event.session, event.bookmark ?? ""] as const] : [],
  );
  for (const [session, bookmark] of goesOn) newest.set(session, bookmark);
  for (const { exchange, isSent } of events) {
    const { session, headers } = exchange;
    if (isSent) {
      const call = `${exchange.step} ${session} ${exchange.method} ${exchange.path}`;
      if (session !== undefined && !starts.has(call)) starts.set(call, newest.get(session));
      const least = session === undefined ? headers["x-d1-bookmark"] : starts.get(call);
      // A client may make one up, which promises nothing.
      if (least !== undefined && stateOf(least) <= last) needed.set(exchange, least);
      continue;
    }
    // The place of a cursor is gone. The client forgets its bookmark too, which may be from a history that is gone.
    if (session !== undefined && exchange.status === 410) {
      newest.delete(session);
      for (const call of starts.keys())
        if (call.startsWith(`${exchange.step} ${session} GET /v1/events`)) starts.delete(call);
      continue;
    }
    const bookmark = bookmarkIn(exchange);
    const least = needed.get(exchange);
    if (bookmark === undefined) continue;
    const isInventory = exchange.path.endsWith("/inventory");
    if (least !== undefined && bookmark < least && isRead(exchange) && !isInventory) {
      yield { exchange, message: `The session had reached ${least}, and the response is from ${bookmark}.` };
    }
    if (session !== undefined && bookmark > (newest.get(session) ?? "")) newest.set(session, bookmark);
  }
}

/**
 * Each request takes one round trip to the database. A change that is safe to repeat takes more, after a transient failure. So does a page
 * of the feed whose replica has no such place, and a read whose replica lacks a migration.
 */
function* roundTripsAreBounded({ history }: Outcome): Generator<Finding> {
  for (const exchange of history.exchanges) {
    const { trips } = exchange;
    const again = trips.slice(0, -1).filter(({ failure }) => TRANSIENT_ERRORS.includes(failure ?? "")).length;
    const repeated = isRead(exchange) && lacksMigration(trips[0]?.failure) ? 1 : 0;
    const most =
      (isRepeatable(exchange) ? Math.min(again, MAX_RETRIES) : asksThePrimaryToo(exchange) ? 1 : 0) + repeated + 1;
    if (trips.length > most)
      yield { exchange, message: `The request took ${trips.length} round trips instead of ${most}.` };
    const isTransient = TRANSIENT_ERRORS.includes(trips.at(-1)?.failure ?? "") && exchange.version === PRESENT;
    if (isTransient && isRepeatable(exchange) && trips.length <= MAX_RETRIES && exchange.status !== undefined) {
      yield { exchange, message: "The service gave up after a transient failure." };
    }
  }
}

/** Whether a replica may not have the place of the cursor yet. */
const asksThePrimaryToo = ({ path, trips: [first] }: Exchange) =>
  path.startsWith("/v1/events?") && typeof first?.instance === "number" && first.failure === undefined;

/** Whether a transaction met an instance that does not have every migration. */
const lacksMigration = (failure = "") => failure.includes("no such ");

/** Whether the service may repeat it (docs/guarantees.md, "Faults"). */
function isRepeatable(exchange: Exchange): boolean {
  const { method, path, headers, body } = exchange;
  if (method === "POST" && path.endsWith("/replay")) return true;
  if (headers["Idempotency-Key"] !== undefined || isCount(exchange)) return true;
  const isOrder = /^\/v1\/store\/orders\/\d+$/.test(path);
  if (!isOrder || headers["If-None-Match"] !== undefined || /"(?:reference|customer)"/.test(body ?? "")) return false;
  return method === "DELETE" || (method === "PATCH" && [undefined, "*"].includes(headers["If-Match"]));
}

/** All attempts of a call have the same key. Only then does the change happen once. */
function* callsKeepTheirKey({ history }: Outcome): Generator<Finding> {
  const keys = new Map<string, string>();
  for (const exchange of history.exchanges) {
    const { call, method, path } = exchange;
    const { "Idempotency-Key": key } = exchange.headers;
    if (call === undefined || key === undefined) continue;
    const request = `${call} ${method} ${path}`;
    const first = keys.get(request) ?? key;
    keys.set(request, first);
    if (key !== first) yield { exchange, message: `An earlier attempt of this call had the key ${first}.` };
  }
}

/** A revoked or expired key, and each of its tokens, is refused after the documented time. A good one is accepted. */
function* keysAreChecked({ history, operators, secrets }: Outcome): Generator<Finding> {
  const keys = new Map(operators.keys.map((key) => [key.name, key]));
  /** The secrets of the versions that a request may have met. */
  const secretsIn = (from: number, to: number) =>
    secrets.filter(({ since }, index) => since <= to && (secrets[index + 1]?.since ?? Infinity) >= from);
  for (const exchange of history.exchanges) {
    const { apiKey, token, sentAt, status, respondedAt = 0, refusal } = exchange;
    const { createdAt, revokedAt = Infinity, ...key } = keys.get(apiKey) ?? expectKey(apiKey);
    const expiresAt = Math.min(key.expiresAt ?? Infinity, token?.expiresAt ?? Infinity);
    const met = secretsIn(sentAt, respondedAt);
    const isSigned = token === undefined || met.every(({ secret }) => secret === token.secret);
    const isForged = token !== undefined && !met.some(({ secret }) => secret === token.secret);
    if (status === undefined || refusal === 401) continue;
    const isRefused = status === 401;
    const isGone = sentAt > expiresAt + LARGEST_SKEW || sentAt > revokedAt + REVOCATION || isForged;
    if (isGone && !isRefused && status !== 503) {
      yield {
        exchange,
        message: `${apiKey} expired at ${expiresAt}, was revoked at ${revokedAt}, and is accepted at ${sentAt}.`,
      };
    }
    const isGood =
      isSigned && sentAt > createdAt + ADMISSION && respondedAt < Math.min(expiresAt - LARGEST_SKEW, revokedAt);
    if (isGood && isRefused) yield { exchange, message: `${apiKey} is good, and is refused.` };
  }
}

function expectKey(name: string): never {
  throw new Error(`There is no key ${name}`);
}

// Promise: reads-from-memory
/**
 * A response from memory is at most as old as the request allows, and not older than its `Age`: somebody got it from the database in that
 * time.
 */
function* memoriesAreYoung({ history }: Outcome): Generator<Finding> {
  /** When each content was read, by its path and its bookmark. */
  const readAt = new Map<string, number[]>();
  const place = (exchange: Exchange) => `${exchange.isolate} ${exchange.path} ${bookmarkIn(exchange)}`;
  for (const exchange of history.exchanges) {
    if (isRead(exchange) && ran(exchange).length > 0 && bookmarkIn(exchange) !== undefined) {
      const times = readAt.get(place(exchange)) ?? [];
      readAt.set(place(exchange), [...times, ran(exchange)[0]?.at ?? 0]);
    }
  }
  for (const exchange of history.exchanges) {
    const age = exchange.responseHeaders?.get("Age");
    if (age === null || age === undefined || exchange.path.endsWith("/inventory") || exchange.status === 503) continue;
    const allowed = allowedSeconds(exchange);
    const times = readAt.get(place(exchange)) ?? [];
    // The clock of the isolate may have jumped in between. A content is as old as the request for it, and not as its transaction.
    const jump = history.faults.has("clock jumps") ? 2 * LARGEST_SKEW : 0;
    // `Age` has whole seconds.
    const oldest = (exchange.respondedAt ?? 0) - Math.min(allowed, Number(age) + 1) * 1000 - jump;
    const isYoung = times.some((time) => time >= oldest && time <= (exchange.respondedAt ?? 0));
    if (!isYoung || Number(age) > allowed) {
      yield {
        exchange,
        message: `The response has the age ${age}, was read at ${times.join(" and ")}, and may be ${allowed} seconds old.`,
      };
    }
  }
}

/** What a request allows, or what the operator may allow for those without a directive. */
function allowedSeconds({ headers }: Exchange): number {
  const directive = headers["Cache-Control"];
  return directive === undefined ? MAX_AGE : Math.min(MAX_AGE, Number(/max-age=(\d+)/.exec(directive)?.[1] ?? 0));
}

/** The hourly job leaves a key alone for its lifetime. */
function* keysAreRemembered({ history }: Outcome): Generator<Finding> {
  for (const event of history.events) {
    if (event.kind !== "occurrence") continue;
    for (const { key, age } of event.forgotten ?? []) {
      if (age < LIFETIME_SECONDS) yield { message: `The key ${key} is forgotten after ${age} seconds.` };
    }
  }
}

/** A response is a failure of the service only after a failure of what it uses. */
function* failuresHaveCauses({ history }: Outcome): Generator<Finding> {
  for (const exchange of history.exchanges) {
    const { status, refusal, trips, faults, text = "" } = exchange;
    if (status === undefined) continue;
    const failed = trips.at(-1)?.failure !== undefined || faults.some((fault) => fault !== "limit");
    if (status === 500) yield { exchange, message: "The service has a bug." };
    if (status === 503 && !failed) yield { exchange, message: "Nothing failed." };
    if (status === 503 && lacksMigration(trips.at(-1)?.failure) && exchange.version === PRESENT)
      yield { exchange, message: "The client meets a replica that lacks a migration." };
    if (status === 429 && !faults.includes("limit")) yield { exchange, message: "No limit is reached." };
    const isEarlier = [401, 429, 503].includes(status);
    if (refusal !== undefined && status !== refusal && !isEarlier && exchange.version === PRESENT) {
      yield { exchange, message: `The response is ${status} ${codeOf(text)} instead of ${refusal}.` };
    }
    const needsNone =
      [400, 401, 404, 405, 408, 413, 415, 429, 503].includes(status) || bookmarkIn(exchange) !== undefined;
    // The object of a live feed has a way of its own.
    const isKey = /^\/v1\/(?:key|events\/live)/.test(exchange.path);
    if (exchange.path === "/v1/key" && status === 200 && !text.startsWith(`{"id":"${exchange.apiKey}",`))
      yield { exchange, message: "The service describes another key." };
    const isAnswered = isKey || trips.length > 0 || exchange.responseHeaders?.has("Age");
    if (!isAnswered && !needsNone) yield { exchange, message: "The service responds without its database." };
  }
}

// Promise: lists-are-complete
/** No item is on two pages of a list that a client walks with bookmarks. `oneAfterAnother` compares each page and its next one. */
function* walksSeeEverything({ history }: Outcome): Generator<Finding> {
  const walks = Map.groupBy(
    history.exchanges.filter(
      (one) => isRead(one) && one.status === 200 && one.session !== undefined && one.text?.startsWith("["),
    ),
    // A page of a customer may walk twice at once.
    ({ step, call, path, session }) => `${step} ${call} ${session} ${path.replace(/[?&]cursor=[^&]*/, "")}`,
  );
  for (const pages of walks.values()) {
    const ids = new Map<string, string>();
    for (const exchange of pages) {
      if (exchange.receivedAt === undefined) continue;
      const cursor = /cursor=([^&]*)/.exec(exchange.path)?.[1] ?? "";
      // A follower of the feed may walk again in the same session.
      if (cursor === "") ids.clear();
      for (const [, id = ""] of (exchange.text ?? "").matchAll(/\{"id":(\d+)/g)) {
        const other = ids.get(id);
        // A program that goes on after its crash walks again.
        if (other !== undefined && other !== cursor) yield { exchange, message: `The item ${id} is on two pages.` };
        ids.set(id, cursor);
      }
    }
  }
}

let comparison: ReturnType<typeof comparisonWith> | undefined;
const known = new Set<string>();

// Promise: three-fields
/** Every response fits the document of the interface. */
function responsesFit(document: OpenAPIObject): Checker {
  comparison ??= comparisonWith(document);
  const { differencesOf } = comparison;
  return function* fit({ history }) {
    for (const exchange of history.exchanges) {
      const { method, path, status, responseHeaders: headers, text = "", isTool } = exchange;
      if (isTool || status === undefined || headers === undefined || exchange.version !== PRESENT) continue;
      const [pathname = ""] = path.split("?");
      // Responses that differ in digits only fit alike.
      const names = [...headers].map(
        ([name, value]) => `${name}=${/id|bookmark|link|location/.test(name) ? "" : value}`,
      );
      const shape = [method, pathname, status, names.join(), text].join(" ").replaceAll(/\d+/g, "0");
      if (known.has(shape)) continue;
      const differences = differencesOf(method, pathname, { status, headers, text });
      if (differences.length === 0) known.add(shape);
      else yield { exchange, message: differences.join("; ") };
    }
  };
}

// Promise: orders-and-animals-agree, the-index-refuses-a-second-order
/** The invariants of invariants.ts hold after every transaction. */
function* invariantsHold({ breaches, history }: Outcome): Generator<Finding> {
  for (const { event, message } of breaches) {
    const trip = history.events[event];
    yield { message, exchange: trip?.kind === "trip" ? trip.exchange : undefined };
  }
}

/** A backup and its restore succeed in the end, with exactly the rows of one moment. */
function* backupsAreExact({ backupFailures }: Outcome): Generator<Finding> {
  for (const message of backupFailures) yield { message };
}

/** Every checker by its name. docs/decisions/simulated-world.md names the one of each guarantee. */
export const checkersOf = (document: OpenAPIObject): { [name: string]: Checker } => ({
  oneAfterAnother,
  bookmarksAreTrue,
  sessionsNeverGoBack,
  roundTripsAreBounded,
  callsKeepTheirKey,
  keysAreChecked,
  memoriesAreYoung,
  keysAreRemembered,
  failuresHaveCauses,
  walksSeeEverything,
  feedIsExact,
  copiesAreTrue,
  listenersHearTheirs,
  agentsSeeEveryWrite,
  deliveriesAreExact,
  responsesFit: responsesFit(document),
  invariantsHold,
  backupsAreExact,
});

/** The first violations that each checker finds in a history. */
export function judge(outcome: Outcome, document: OpenAPIObject): Violation[] {
  return Object.entries(checkersOf(document))
    .flatMap(([checker, check]) => {
      const [first] = check(outcome);
      return first === undefined ? [] : [{ ...first, checker }];
    })
    .toSorted((a, b) => (a.exchange?.id ?? Infinity) - (b.exchange?.id ?? Infinity));
}
