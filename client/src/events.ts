import { limit } from "./attempt.ts";
import { PetStoreError } from "./error.ts";
import * as fields from "./fields.ts";
import { type FieldsOf, fits } from "./fits.ts";
import { search } from "./list.ts";
import { Live } from "./live.ts";
import type { RequestOptions } from "./options.ts";
import type { Scope } from "./requests.ts";
import { faultOf, pauseAfter } from "./retry.ts";
import type { operations } from "./schema.ts";
import type { EventData, EventType, PetStoreEvent } from "./shapes.ts";

/** A part of the feed. */
export interface EventPage {
  /** In the order of the changes. There may be none, also when there are more. */
  readonly events: PetStoreEvent[];
  /** The place after these events. Keep it, to go on from there. */
  readonly cursor: string;
  /** Whether the feed goes on. If not, nothing newer exists yet. */
  readonly more: boolean;
}

/** Which events to fetch. */
export interface EventQuery extends RequestOptions {
  /** The place to go on from, or `latest` for the present end. The oldest event that the service keeps unless given. */
  cursor?: string | undefined;
  /** The largest number of events in a page. 100 unless given, which is the most. */
  limit?: number | undefined;
  /** At least one type. Every type that the key may read unless given. */
  types?: readonly (EventType | (string & {}))[] | undefined;
}

/** How to follow the feed. */
export interface FollowOptions extends EventQuery {
  /** Ends the iteration. It does not reject then. */
  signal?: AbortSignal | undefined;
  /**
   * How many milliseconds to wait at the end of the feed. Between 2,000 and 30,000 by chance unless given, the longer the rarer events are.
   *
   * @param waits the waits since the last event, with this one.
   */
  idle?: ((waits: number) => number) | undefined;
  /**
   * Whether the service tells each change at once, over a socket, instead of being asked again and again. The iteration is the same. Where
   * no socket opens, it asks. A customer token has no other way, and starts at the present end unless it has a cursor.
   */
  live?: boolean | undefined;
  /**
   * Makes the copy anew, because the iteration starts at the present end: with the cursor `latest`, or when the service no longer has the
   * place of the cursor. The iteration waits for it, and goes on from where the end was before it. Lists of the same session then have
   * everything up to that place. After a failure that may pass, it is called again.
   *
   * @param error why the cursor cannot be used any more. Undefined with the cursor `latest`.
   */
  onReset?: ((error: PetStoreError | undefined) => void | Promise<void>) | undefined;
}

const LATEST = "latest";

const EVENT = fits({ id: "string", type: "string", timestamp: "string", version: "number" });
const DATA: { [Type in EventType]: FieldsOf<EventData[Type]> } = {
  "pet.created": fields.Animal,
  "pet.updated": fields.Animal,
  "pet.deleted": fields.Deleted,
  "category.created": fields.Category,
  "category.updated": fields.Category,
  "category.deleted": fields.Deleted,
  "order.placed": fields.Order,
  "order.shipped": fields.Order,
  "order.cancelled": fields.Order,
  "order.updated": fields.Order,
};

/** Whether a value is an event. That of an unknown type may have any data. */
const isEvent = (value: PetStoreEvent): boolean =>
  EVENT(value) && fits(DATA[value.type as EventType] ?? {})(value.data);

/** @throws TypeError without a type: the service would return every event. */
function searchOf({ cursor, limit: most, types }: EventQuery): URLSearchParams {
  if (types?.length === 0) throw new TypeError("types has to have a type.");
  return search({ cursor, limit: most, type: types });
}

/** Whether a value is the page after a place. One that does not go on would come again and again. */
const isPageAfter =
  (cursor: string | undefined) =>
  (value: unknown): boolean => {
    const { events, cursor: next, more } = Object(value) as EventPage;
    return (
      fits({ cursor: "string", more: "boolean" })(value) &&
      Array.isArray(events) &&
      events.every(isEvent) &&
      (next !== cursor || (events.length === 0 && !more))
    );
  };

const MIN_SECONDS = 2;
const WAITS = { firstPause: 2_000, longestPause: 28_000 };

/** The feed of every change. */
export class Events {
  readonly #scope: Scope;

  constructor(scope: Scope) {
    this.#scope = scope;
  }

  /**
   * Fetches a page of the feed.
   *
   * @throws PetStoreError `cursor_expired` when the service does not have the place of the cursor. The message tells how to start again.
   * The session forgets its bookmark, because the database may be an older one.
   * @beta
   */
  async list(query: EventQuery = {}): Promise<EventPage> {
    return this.#page("listEvents", query);
  }

  /**
   * Follows the feed for ever: fetches pages, waits at the end, and goes on after every failure that may pass. It yields each page that
   * has events or moves the cursor. A program that stores the cursor of a page together with its events misses no event and sees none
   * twice, whenever it stops.
   *
   * @throws PetStoreError when a failure is final. Without `onReset`, `cursor_expired` is one.
   * @beta
   */
  async *follow({
    cursor,
    idle = (waits) => pauseAfter(waits, MIN_SECONDS, WAITS),
    onReset,
    live: isLive = false,
    ...query
  }: FollowOptions = {}): AsyncGenerator<EventPage, void, undefined> {
    const { signal } = query;
    // Without a session, the pages remember for themselves, as those of a list.
    const scope = { ...this.#scope, memory: this.#scope.memory ?? { bookmark: undefined } };
    const feed = new Events(scope);
    const live = isLive ? new Live(scope.connection, scope.memory, signal) : undefined;
    let expired: PetStoreError | undefined;
    let more = false;
    try {
      for (let waits = 0, pause = 0; ;) {
        let page: EventPage | undefined;
        let begin = Infinity;
        try {
          if (pause > 0) await limit(() => new Promise(() => {}), pause, signal);
          begin = performance.now();
          const place = searchOf({ cursor, types: query.types });
          // A request finds the end even where no socket opens, and reaches the oldest event.
          const asks = more || cursor === undefined || cursor === LATEST;
          const pushed = (await live?.next(place, asks, isPageAfter(cursor))) as EventPage | undefined;
          const from = { ...query, cursor };
          const received = pushed ?? (await (live?.isCustomer ? feed.#page("followLive", from) : feed.list(from)));
          // Not before the cursor is known: the feed has what changes while the copy is made.
          if (cursor === LATEST) await onReset?.(expired);
          page = received;
        } catch (thrown) {
          if (signal?.aborted && thrown === signal.reason) return;
          // Its last message may be no page.
          live?.close();
          if (!(thrown instanceof PetStoreError)) throw thrown;
          if (onReset && thrown.code === "cursor_expired" && cursor !== LATEST) [cursor, expired] = [LATEST, thrown];
          else if (faultOf(thrown) === "final") throw thrown;
          // A socket that was quiet for a minute was none of the failures before.
          if (live && performance.now() - begin > 60_000) waits = 0;
          // After a restore, the consumers do not all come back together.
          pause = pauseAfter(++waits, Math.max(MIN_SECONDS, thrown.retryAfter ?? 0), WAITS);
          continue;
        }
        if (page.events.length > 0) waits = 0;
        const moved = page.cursor !== cursor;
        ({ cursor, more } = page);
        if (moved) yield page;
        pause = more || live?.opens ? 0 : idle(++waits);
      }
    } finally {
      live?.close();
    }
  }

  async #page(operation: keyof operations, { cursor, limit, types, ...options }: EventQuery): Promise<EventPage> {
    const { connection, memory } = this.#scope;
    const isLive = operation === "followLive";
    const query = searchOf({ cursor, limit: isLive ? undefined : limit, types });
    const path = isLive ? "/events/live" : "/events";
    const call = { ...options, operation, method: "GET", path, query, expects: isPageAfter(cursor) } as const;
    try {
      return (await connection.send(call, memory)).value as EventPage;
    } catch (thrown) {
      if (memory && thrown instanceof PetStoreError && thrown.code === "cursor_expired") memory.bookmark = undefined;
      throw thrown;
    }
  }
}
