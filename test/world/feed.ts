import { type Place, decodeEventCursor } from "../../src/feed/place.ts";
import { RULES } from "../../src/pets/fold.ts";
import { writeCategory, writeOrder, writePet } from "../model/model.ts";
import type { Finding } from "./checkers.ts";
import type { Exchange, Trip } from "./history.ts";
import type { Instance } from "./sqlite.ts";
import { codeOf } from "./specification.ts";
import { type Outcome, PRESENT } from "./world.ts";

/** A row of the feed. */
export interface Row {
  id: number;
  place: string;
  type: string;
  version: number;
  data: string;
  createdAt: string;
}

/** What a transaction left in the feed. */
export interface Feed {
  at: number;
  /** The ids of its first row and of its last. */
  oldest: number;
  newest: number;
  /** Events that wait for the index of words. Undefined while it is not ready. */
  waiting?: number | undefined;
  /** The rows that are newer than those of the state before. */
  added: Row[];
  /** The feed began anew here, with a hidden row. */
  isAnew?: true;
}

const ADDED = `SELECT id, printf('%016x%08x', id, tag) AS place, type, version, data, created_at AS createdAt FROM events
  WHERE id > ? ORDER BY id`;
const BOUNDS = `SELECT min(events.id) AS oldest, max(events.id) AS newest,
  (SELECT iif(ready AND rules = '${RULES}' AND place >= min(events.id), place, NULL) FROM search_index) AS place FROM events`;

/** Reads what the last transaction left in the feed. */
export function readFeed(primary: Instance, at: number, before: Feed | undefined): Feed {
  const [bounds] = primary.rows(BOUNDS) as { oldest: number; newest: number; place: number | null }[];
  const { oldest = 0, newest = 0, place = null } = bounds ?? {};
  const waiting = place === null ? undefined : newest - place;
  const isSame = before !== undefined && newest <= before.newest;
  return {
    at,
    oldest,
    newest,
    waiting,
    added: isSame ? [] : (primary.rows(ADDED, before?.newest ?? 0) as unknown as Row[]),
  };
}

/** What a follower of the feed stored in one transaction. */
export interface Stored {
  follower: string;
  /** Its cursor before and after. */
  from: string;
  to: string;
  /** The ids of the events between both. */
  events: string[];
  /** The states that the lists of its first copy have seen, from the first to the last. */
  copied: { from: number; to: number };
  /** Its resources, and the types of their events. */
  kinds: readonly Kind[];
  copy: Copy;
}

/** Resources by their kind and id, as their version and their text. */
export type Copy = ReadonlyMap<string, { version: number; text: string }>;

export type Kind = "pet" | "category" | "order";
export const kindOf = (type: string) => type.slice(0, type.indexOf(".")) as Kind;

// Promise: deletions-are-last, feed-and-changes-agree, feed-is-in-order
/** A transaction leaves exactly the events of its change, in their order. */
export function* leavesItsEvents(
  { exchange, before, after }: Trip,
  expected: string[],
  { feed }: Outcome,
): Generator<Finding> {
  const added = before === after ? [] : (feed[after]?.added ?? []);
  // The version before the feed leaves none.
  if (added.length === 0 && (expected.length === 0 || exchange.version !== PRESENT)) return;
  const left = added.map(({ type, version, data }) => `${type} ${version} ${data}`);
  if (left.join() !== expected.join()) {
    yield {
      exchange,
      message: `The change leaves the events ${left.join("; ")}, and its events are ${expected.join("; ")}.`,
    };
  }
}

/** The feed at a state: the rows of its history, whose ids have no gap. The purge has removed those before the oldest. */
export interface View {
  rows: readonly Row[];
  oldest: number;
  newest: number;
}

export const rowOf = ({ rows }: Pick<View, "rows">, id: number): Row | undefined => rows[id - (rows[0]?.id ?? 0)];

/** The rows after one id, up to another one. */
export const rowsAfter = ({ rows }: View, id: number, last: number): Row[] => {
  const first = rows[0]?.id ?? 0;
  return rows.slice(Math.max(0, id + 1 - first), Math.max(0, last + 1 - first));
};

export const has = (view: View, { id, text }: Place): boolean =>
  Number(id) >= view.oldest && Number(id) <= view.newest && rowOf(view, Number(id))?.place === text;

const endOf = (view: View) => rowOf(view, view.newest);

/** The noted state that each restore returned to, by the state of the restore. */
function restoresOf({ history }: Outcome): Map<number, number> {
  const notes = new Map<number, number>();
  const restores = new Map<number, number>();
  for (const event of history.events) {
    if (event.kind !== "occurrence") continue;
    if (event.snapshot !== undefined) notes.set(event.snapshot, event.noted ?? 0);
    if (event.restored !== undefined) restores.set(event.state ?? 0, notes.get(event.restored) ?? 0);
  }
  return restores;
}

/** The feed at each state. */
export function viewsOf(outcome: Outcome): View[] {
  const restores = restoresOf(outcome);
  const views: View[] = [];
  let rows: Row[] = [];
  for (const [state, { oldest, newest, added, isAnew }] of outcome.feed.entries()) {
    const restored = views[restores.get(state) ?? -1];
    if (isAnew) rows = [...added];
    else if (restored === undefined) rows.push(...added);
    else rows = rowsAfter(restored, 0, restored.newest);
    views.push({ rows, oldest, newest });
  }
  return views;
}

const isFeed = ({ path, method }: Exchange) => method === "GET" && /^\/v1\/events(?:\?|$)/.test(path);
const PAGE = /^\{"events":\[(.*)\],"cursor":"([0-9a-f]{32})","more":(true|false)\}$/s;
const HOUR = 3_600_000;

// Promise: cursors-go-on
/**
 * The feed has each event once, without a gap, and loses only the oldest of them, when they are old. A page has exactly the events between
 * its two places, and says 410 only when the primary does not have the place.
 */
export function* feedIsExact(outcome: Outcome): Generator<Finding> {
  const { feed, history } = outcome;
  const views = viewsOf(outcome);
  yield* rowsStay(outcome, views);
  const written = new Set(history.events.flatMap((event) => (event.kind === "trip" ? event.after : [])));
  const restores = restoresOf(outcome);
  const strange = feed.findIndex(
    ({ added }, state) => state > 0 && added.length > 0 && !written.has(state) && !restores.has(state),
  );
  if (strange !== -1) yield { message: `State ${strange} leaves events, and no request made it.` };
  for (const exchange of history.exchanges) {
    const { status, trips, version, refusal, text = "" } = exchange;
    const trip = trips.at(-1);
    if (!isFeed(exchange) || version !== PRESENT || refusal !== undefined || trip === undefined) continue;
    if (status !== 200 && status !== 410) continue;
    const view = views[trip.after] as View;
    const query = new URLSearchParams(exchange.path.split("?")[1]);
    const cursor = query.get("cursor");
    const place = cursor === null ? undefined : decodeEventCursor(cursor);
    const isThere = place === undefined || has(view, place);
    if (status === 410) {
      const isAsked = trip.instance === "primary";
      if (!isAsked) yield { exchange, message: "The service says 410, and has not asked the primary." };
      if (isThere || codeOf(text) !== "cursor_expired") yield { exchange, message: "The primary has the place." };
      continue;
    }
    const [first] = trips;
    const isAskedTwice = trips.length > 1 && first?.failure === undefined;
    if (isAskedTwice && (place === undefined || has(views[first?.after ?? 0] as View, place)))
      yield { exchange, message: "The service asks the primary, and the replica has the place." };
    const [, events, next = "", more] = PAGE.exec(text) ?? [];
    const end = decodeEventCursor(next);
    if (!isThere)
      yield { exchange, message: `The history at state ${trip.after} does not have the place of the cursor.` };
    else if (end === undefined || !has(view, end)) yield { exchange, message: `No event has the place ${next}.` };
    else {
      const from = cursor === null ? view.oldest - 1 : place === undefined ? view.newest : Number(place.id);
      const to = Number(end.id);
      const types = query.getAll("type");
      const wanted = rowsAfter(view, from, to).filter(({ type }) =>
        types.length === 0 ? type !== "feed.started" : types.includes(type),
      );
      const expected = wanted.map(write).join();
      if (events !== expected) yield { exchange, message: `The events of the page have to be ${expected}.` };
      if (more !== String(to < view.newest)) yield { exchange, message: `The feed ends with ${view.newest}.` };
      if (to < from || (to === from && to < view.newest)) yield { exchange, message: "The page does not go on." };
      if (wanted.length > Number(query.get("limit") ?? 100)) yield { exchange, message: "The page is too long." };
    }
  }
}

export const write = ({ place, type, version, data, createdAt }: Row) =>
  `{"id":"evt_${place}","type":"${type}","timestamp":"${createdAt}","version":${version},"data":${data}}`;

/** The ids of the rows have no gap. Only old rows go, the oldest first, and the newest row stays. */
function* rowsStay(outcome: Outcome, views: readonly View[]): Generator<Finding> {
  const { feed, days } = outcome;
  const restores = restoresOf(outcome);
  for (const [state, view] of views.entries()) {
    const { added, at, oldest, newest, isAnew } = feed[state] as Feed;
    const restored = views[restores.get(state) ?? -1];
    if (isAnew) {
      const last = Math.max(views[state - 1]?.newest ?? 0, restored?.newest ?? 0);
      const isHidden = added.length === 1 && added[0]?.type === "feed.started" && oldest > last;
      if (!isHidden) yield { message: `The feed does not begin anew with one hidden row above ${last}.` };
      continue;
    }
    const before = restored ?? views[state - 1] ?? { ...view, newest: view.oldest - 1 };
    const isWhole = restored !== undefined || added.every(({ id }, index) => id === before.newest + 1 + index);
    const isEnd = newest === before.newest + (restored === undefined ? added.length : 0);
    if (!isWhole || !isEnd || oldest < before.oldest || oldest > newest) {
      yield {
        message: `The feed has the events ${oldest} to ${newest} at state ${state}, and ${before.oldest} to ${before.newest} before.`,
      };
      return;
    }
    const young = rowsAfter(view, before.oldest - 1, oldest - 1).find(
      (row) => Date.parse(row.createdAt) > at - days * 24 * HOUR,
    );
    if (young !== undefined) yield { message: `State ${state} loses the event ${young.place} of ${young.createdAt}.` };
  }
}

/**
 * A follower of the feed gets every event between its places, once and in order. Its copy equals the resources as of the place of its
 * cursor, as soon as that is after its lists. When nothing happens any more, it equals the database.
 */
export function* copiesAreTrue(outcome: Outcome): Generator<Finding> {
  const { feed, history, followers } = outcome;
  // The version before the feed leaves no events.
  if (history.exchanges.some(({ version }) => version !== "" && version !== PRESENT)) return;
  const views = viewsOf(outcome);
  const restores = restoresOf(outcome);
  const noted = new Set(restores.values());
  const all = history.events.flatMap((event) => (event.kind === "occurrence" && event.stored) || []);
  const left = Map.groupBy(all, ({ to }) => decodeEventCursor(to)?.text ?? to);
  const finding = ({ follower, to }: Stored, message: string) => ({
    exchange: history.exchanges.findLast(({ text }) => text?.includes(to)),
    message: `${follower}, at ${to}: ${message}`,
  });
  /** Whether no restore was between the lists of a copy (docs/guarantees.md, "Not guaranteed"). */
  const isOfOneHistory = ({ from, to }: Stored["copied"]) =>
    ![...restores.keys()].some((restore) => restore > from && restore <= to);
  /** The resources after each event, and at the states that operators noted. */
  let contents = new Map<string, { version: number; text: string }>();
  const notes = new Map<number, typeof contents>();
  for (const [state, { added, isAnew }] of feed.entries()) {
    const restored = restores.get(state);
    if (restored !== undefined) contents = new Map(notes.get(restored));
    if (restored === undefined || isAnew) {
      for (const { id, place, type, version, data } of added) {
        const name = `${kindOf(type)} ${/^\{"id":(\d+)/.exec(data)?.[1]}`;
        if (type.endsWith(".deleted")) contents.delete(name);
        else if (type !== "feed.started") contents.set(name, { version, text: data });
        const view = views[state] as View;
        for (const stored of left.get(place) ?? []) {
          const { from, events, copied, kinds, copy } = stored;
          const start = decodeEventCursor(from);
          const first = start === undefined ? id : Number(start.id);
          if (start !== undefined && rowOf(view, first)?.place !== start.text) {
            yield finding(stored, "It went on from another history.");
          }
          const expected = rowsAfter(view, first, id).filter((row) => kinds.includes(kindOf(row.type)));
          if (expected.map((row) => `evt_${row.place}`).join() !== events.join()) {
            yield finding(stored, `It got ${events.join()} instead of ${expected.map((row) => row.place).join()}.`);
          }
          const copiedView = views[copied.to];
          if (copiedView === undefined) yield finding(stored, "The lists of its copy had no bookmark.");
          const end = copiedView && endOf(copiedView);
          const isWhole = isOfOneHistory(copied) && end !== undefined && end.id <= id && rowOf(view, end.id) === end;
          const difference = isWhole ? differenceOf(copy, contents, kinds) : undefined;
          if (difference !== undefined) yield finding(stored, difference);
        }
        left.delete(place);
      }
    }
    if (noted.has(state)) notes.set(state, new Map(contents));
  }
  for (const [stored] of left.values()) if (stored) yield finding(stored, "The feed never had the place.");
  const database = new Map(
    [
      ...(outcome.database["pets"] ?? []).map((row) => ["pet", row, writePet(row as never)] as const),
      ...(outcome.database["categories"] ?? []).map((row) => ["category", row, writeCategory(row as never)] as const),
      ...(outcome.database["orders"] ?? []).map((row) => ["order", row, writeOrder(row as never)] as const),
    ].map(([kind, row, text]) => [`${kind} ${String(row["id"])}`, { version: Number(row["version"]), text }]),
  );
  const { newest = 0 } = feed.at(-1) ?? {};
  for (const { name, kinds, copy, copied, place } of followers) {
    if (place !== newest) yield { message: `${name} does not reach the end.` };
    const difference = isOfOneHistory(copied) ? differenceOf(copy, database, kinds) : undefined;
    if (difference !== undefined) yield { message: `${name}, after quiet: ${difference}` };
  }
}

/** The first resource of some kinds that differs. */
function differenceOf(copy: Copy, contents: Copy, kinds: readonly Kind[]): string | undefined {
  for (const name of new Set([...copy.keys(), ...contents.keys()])) {
    const [has, wants] = [copy.get(name), contents.get(name)];
    if (!kinds.some((kind) => name.startsWith(kind))) continue;
    if (has?.version !== wants?.version || has?.text !== wants?.text) {
      return `The copy has ${name} as ${has?.version} ${has?.text}, and it is ${wants?.version} ${wants?.text}.`;
    }
  }
  return undefined;
}
