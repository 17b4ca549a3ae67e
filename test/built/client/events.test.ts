import { describe, expect, expectTypeOf, test, vi } from "vitest";
import {
  type Animal,
  type Attempt,
  type Category,
  type EventPage,
  type Events,
  type FollowOptions,
  type Order,
  PetStoreError,
  type PetStoreEvent,
  type PetStoreOptions,
} from "../../../client/src/index.ts";
import {
  ANIMAL,
  BOOKMARKS,
  broken,
  CATEGORY,
  errorOf,
  failure,
  fakeService,
  html,
  json,
  ORDER,
  type Reply,
  silent,
  stopTime,
} from "./fake-service.ts";

const [OLD = "", NEW = ""] = BOOKMARKS;
const EXPIRED = failure(410, "cursor_expired");

const DATA: Record<string, string> = { pet: ANIMAL, category: CATEGORY, order: ORDER };

/** An event, with the data of its type unless given. */
const event = (type: string, id = "evt_1", data?: string) => {
  const [resource = "", change] = type.split(".");
  const own = data ?? (change === "deleted" ? '{"id":9007199254740993}' : DATA[resource]);
  return `{"id":"${id}","type":"${type}","timestamp":"2026-11-22T08:30:00.000Z","version":3,"data":${own}}`;
};

/** A page with events of these types. */
const page = (types: string[], cursor: string, more = false, bookmark?: string): Reply =>
  json(
    200,
    `{"events":[${types.map((type) => event(type)).join()}],"cursor":"${cursor}","more":${more}}`,
    bookmark === undefined ? {} : { "x-d1-bookmark": bookmark },
  );

const EMPTY: string[] = [];

/** Follows the feed up to its end. Returns the pages, as the cursor and their types. */
async function follow({ events: feed }: { events: Events }, options: FollowOptions = {}): Promise<string[]> {
  const controller = new AbortController();
  const idle = () => {
    if (controller.signal.aborted) throw new Error("The iteration goes on.");
    controller.abort();
    return 0;
  };
  const pages: string[] = [];
  for await (const { events, cursor } of feed.follow({ idle, signal: controller.signal, ...options })) {
    pages.push(`${cursor}: ${events.map(({ type }) => type).join()}`);
  }
  return pages;
}

describe("a page", () => {
  // Promise: event-pages
  test("has the events and the cursor, with exact ids, and the id of an event as its text", async () => {
    const types = ["pet.updated", "pet.deleted", "category.created", "order.placed"];
    const { store, sent } = fakeService([page(types, "A", true)]);
    const { events, cursor, more } = await store.events.list({ cursor: "B", limit: 4, types: ["pet.updated", "x"] });
    expect(sent[0]?.path).toBe("/events?cursor=B&limit=4&type=pet.updated&type=x");
    expect({ cursor, more }).toEqual({ cursor: "A", more: true });
    expect(events[0]).toEqual({
      id: "evt_1",
      type: "pet.updated",
      timestamp: "2026-11-22T08:30:00.000Z",
      version: 3,
      data: { id: 2n ** 63n - 1n, name: "Rex", categoryId: -(2n ** 63n), status: "available" },
    });
    expect(events.slice(1).map(({ data }) => data)).toEqual([
      { id: 9007199254740993n },
      { id: 1n, name: "Dogs" },
      expect.objectContaining({ id: 1n, petId: 2n }),
    ]);
  });

  // Promise: event-pages
  test("without parameters, it is that of the oldest events", async () => {
    const { store, sent } = fakeService([page(EMPTY, "A")]);
    expect(await store.events.list()).toEqual({ events: [], cursor: "A", more: false });
    expect(sent[0]?.path).toBe("/events");
  });

  // Promise: event-types, generated-types
  test("the type of an event tells the type of its data", async () => {
    type DataOf<Type> = (PetStoreEvent & { type: Type })["data"];
    expectTypeOf<DataOf<"pet.created" | "pet.updated">>().toEqualTypeOf<Animal>();
    expectTypeOf<DataOf<"category.created" | "category.updated">>().toEqualTypeOf<Category>();
    expectTypeOf<DataOf<"pet.deleted" | "category.deleted">>().toEqualTypeOf<{ id: bigint }>();
    expectTypeOf<DataOf<`order.${"placed" | "shipped" | "cancelled" | "updated"}`>>().toEqualTypeOf<Order>();
    const narrow = (one: PetStoreEvent) => one.type === "pet.created" && one.data.name;
    expectTypeOf(narrow).returns.toEqualTypeOf<string | false>();
    expectTypeOf<"pet.sold">().not.toExtend<PetStoreEvent["type"]>();
    const { store } = fakeService([page(EMPTY, "A")]);
    expectTypeOf(await store.events.list()).toEqualTypeOf<EventPage>();
  });

  // Promise: event-types
  test("an event of an unknown type, and unknown fields, come as they are", async () => {
    const later = event("pet.archived", "evt_2", '{"petId":1,"why":"old"}').replace("{", '{"by":"me",');
    const { store } = fakeService([json(200, `{"events":[${later}],"cursor":"A","more":false,"lag":1}`)]);
    const { events } = await store.events.list();
    expect(events).toMatchObject([{ type: "pet.archived", by: "me", data: { petId: 1n, why: "old" } }]);
  });

  test.each([
    ["an animal without a name", event("pet.created", "evt_1", '{"id":1,"categoryId":1}')],
    ["an order as an animal", event("pet.updated", "evt_1", ORDER)],
    ["a deletion without an id", event("pet.deleted", "evt_1", "{}")],
    ["a change without data", event("order.placed", "evt_1", "null")],
    ["an event without a version", event("pet.created").replace('"version":3,', "")],
    ["no event", "null"],
  ])("%s is no response of the service", async (_fault, text) => {
    const { store } = fakeService([json(200, `{"events":[${text}],"cursor":"A","more":false}`)], {
      retry: { attempts: 1 },
    });
    expect(await errorOf(store.events.list())).toMatchObject({ code: "unexpected_response" });
  });

  test.each([
    ["a list", "[]"],
    ["null", "null"],
    ["no cursor", '{"events":[],"more":false}'],
    ["no end", '{"events":[],"cursor":"B"}'],
    ["no events", '{"events":{},"cursor":"B","more":false}'],
    ["more at the same place", '{"events":[],"cursor":"A","more":true}'],
    ["events at the same place", `{"events":[${event("pet.created")}],"cursor":"A","more":false}`],
  ])("%s is no response of the service", async (_fault, text) => {
    const { store } = fakeService([json(200, text)], { retry: { attempts: 1 } });
    expect(await errorOf(store.events.list({ cursor: "A" }))).toMatchObject({ code: "unexpected_response" });
  });

  test("no type at all is a TypeError, and nothing is sent", async () => {
    const { store, sent } = fakeService([page(EMPTY, "A")]);
    expect(await errorOf(store.events.list({ types: [] }))).toBeInstanceOf(TypeError);
    expect(await errorOf(follow(store, { types: [] }))).toBeInstanceOf(TypeError);
    expect(sent).toEqual([]);
  });

  // Promise: resets-drop-bookmarks
  test("after a 410, a session has no bookmark", async () => {
    const { store, sent } = fakeService([failure(410, "cursor_expired", { "x-d1-bookmark": NEW }), page(EMPTY, "A")]);
    const session = store.session(OLD);
    const error = await errorOf(session.events.list({ cursor: "A" }));
    expect(error).toBeInstanceOf(PetStoreError);
    expect(error).toMatchObject({ code: "cursor_expired", status: 410, message: "Because." });
    expect(session.bookmark).toBeUndefined();
    await session.events.list({ cursor: "latest" });
    expect(sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([OLD, undefined]);
  });

  test("after another error, a session keeps its bookmark", async () => {
    const { store } = fakeService([failure(403, "insufficient_scope")]);
    const session = store.session(OLD);
    await errorOf(session.events.list());
    expect(session.bookmark).toBe(OLD);
  });
});

describe("following", () => {
  // Promise: follow-empty-pages, follow-pages, quiet-copies
  test("fetches each page after the one before, at once while there is more, and yields what moves the cursor", async () => {
    const service = fakeService([
      page(["pet.created", "pet.updated"], "A", true, OLD),
      // A filtered page may be empty.
      page(EMPTY, "B", true),
      page(["pet.deleted"], "C", false, NEW),
      page(EMPTY, "C"),
      page(EMPTY, "D"),
      page(EMPTY, "D"),
    ]);
    const controller = new AbortController();
    const idle = vi.fn<(waits: number) => number>((waits) => {
      if (waits === 4) controller.abort();
      return 0;
    });
    const types = ["pet.created", "pet.deleted"];
    expect(await follow(service.store, { cursor: "0", limit: 2, types, idle, signal: controller.signal })).toEqual([
      "A: pet.created,pet.updated",
      "B: ",
      "C: pet.deleted",
      "D: ",
    ]);
    const query = "limit=2&type=pet.created&type=pet.deleted";
    expect(service.sent.map(({ path }) => path)).toEqual(
      ["0", "A", "B", "C", "C", "D"].map((cursor) => `/events?cursor=${cursor}&${query}`),
    );
    // Not a session, but it remembers for itself.
    expect(service.sent.map(({ headers }) => headers["x-d1-bookmark"])).toEqual([undefined, OLD, OLD, NEW, NEW, NEW]);
    expect(idle.mock.calls).toEqual([[1], [2], [3], [4]]);
  });

  test("starts with the oldest event, and begins to count the waits again after an event", async () => {
    const service = fakeService([page(EMPTY, "A"), page(EMPTY, "A"), page(["pet.created"], "B"), page(EMPTY, "B")]);
    const counts: number[] = [];
    const controller = new AbortController();
    const idle = (waits: number) => {
      if (counts.push(waits) === 4) controller.abort();
      return 0;
    };
    await follow(service.store, { idle, signal: controller.signal });
    expect(counts).toEqual([1, 2, 1, 2]);
    expect(service.sent[0]?.path).toBe("/events");
  });

  test("in a session, it uses and renews the bookmark of the session", async () => {
    const { store, sent } = fakeService([page(EMPTY, "A", false, NEW)]);
    const session = store.session(OLD);
    await follow(session);
    expect(sent[0]?.headers["x-d1-bookmark"]).toBe(OLD);
    expect(session.bookmark).toBe(NEW);
  });

  // Promise: follow-goes-on, follow-in-the-guide
  test("goes on after failures that may pass, also when the retries of a request gave up", async () => {
    const service = fakeService(
      [
        page(["pet.created"], "A", true),
        broken,
        html(502),
        failure(503, "service_unavailable"),
        broken,
        html(200),
      ].concat([failure(429, "rate_limited"), page(["pet.deleted"], "B")]),
      { retry: { attempts: 2, firstPause: 0 } },
    );
    vi.useFakeTimers();
    const pages = follow(service.store, { cursor: "0" });
    await vi.runAllTimersAsync();
    vi.useRealTimers();
    expect(await pages).toEqual(["A: pet.created", "B: pet.deleted"]);
    expect(service.sent.slice(1).map(({ path }) => path)).toEqual(Array<string>(7).fill("/events?cursor=A"));
  });

  // Promise: follow-goes-on
  test.each([
    ["a 401", failure(401, "unauthorized")],
    ["a 403", failure(403, "insufficient_scope")],
    ["a 410 without onReset", EXPIRED],
  ])("ends with %s", async (_fault, reply) => {
    const service = fakeService([page(["pet.created"], "A", true), reply]);
    expect(await errorOf(follow(service.store))).toBeInstanceOf(PetStoreError);
    expect(service.sent).toHaveLength(2);
  });

  test("an error of the program's own functions ends it", async () => {
    const own = new Error("mine");
    const idle = () => {
      throw own;
    };
    expect(await errorOf(follow(fakeService([page(EMPTY, "A")]).store, { idle }))).toBe(own);
    const onReset = () => Promise.reject(own);
    expect(await errorOf(follow(fakeService([page(EMPTY, "A")]).store, { cursor: "latest", onReset }))).toBe(own);
  });

  // Promise: follow-ends
  test("a loop that breaks requests nothing more", async () => {
    const { store, sent } = fakeService([page(["pet.created"], "A", true)]);
    for await (const { cursor } of store.events.follow()) if (cursor === "A") break;
    expect(sent).toHaveLength(1);
  });
});

describe("a signal ends it without an error", () => {
  // Promise: follow-ends
  test("before the first request", async () => {
    const service = fakeService([page(EMPTY, "A")]);
    expect(await follow(service.store, { signal: AbortSignal.abort("enough") })).toEqual([]);
    expect(service.sent).toEqual([]);
  });

  // Promise: follow-ends, follow-in-the-guide
  test("during the work on a page", async () => {
    const { store, sent } = fakeService([page(["pet.created"], "A", true)]);
    const controller = new AbortController();
    const { signal } = controller;
    for await (const { cursor } of store.events.follow({ signal })) controller.abort(cursor);
    expect(sent).toHaveLength(1);
  });

  test.each([
    ["a request", silent],
    ["a wait", page(EMPTY, "A")],
    ["a wait after a failure", broken],
  ])("during %s", async (_state, reply) => {
    vi.useFakeTimers();
    const controller = new AbortController();
    const service = fakeService([reply], { retry: { attempts: 1 } });
    const pages = follow(service.store, { idle: undefined, cursor: "A", signal: controller.signal });
    await vi.advanceTimersByTimeAsync(1_999);
    expect(service.sent).toHaveLength(1);
    controller.abort("enough");
    expect(await pages).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  test("during onReset", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const service = fakeService([page(EMPTY, "A")]);
    const onReset = async () => {
      controller.abort();
      await service.store.pets.list({}, { signal }).all(1);
    };
    expect(await follow(service.store, { cursor: "latest", signal, onReset })).toEqual([]);
  });
});

describe("time", () => {
  stopTime();

  /** The milliseconds between requests, with this jitter. */
  async function gaps(replies: Reply[], jitter: number, count: number): Promise<number[]> {
    vi.spyOn(Math, "random").mockReturnValue(jitter);
    const controller = new AbortController();
    const times: number[] = [];
    const timed = replies.map((reply): Reply => (sent) => {
      if (times.push(performance.now()) > count) controller.abort();
      return reply(sent);
    });
    const service = fakeService(timed, { retry: { attempts: 1 } });
    const ended = follow(service.store, { idle: undefined, cursor: "A", signal: controller.signal });
    await vi.runAllTimersAsync();
    await ended;
    return times.slice(1, count + 1).map((time, index) => Math.round(time - (times[index] ?? 0)));
  }

  // Promise: follow-waits
  test.each([
    [0, [2_000, 2_000, 2_000, 2_000, 2_000, 2_000]],
    [0.5, [3_000, 4_000, 6_000, 10_000, 16_000, 16_000]],
    [1, [4_000, 6_000, 10_000, 18_000, 30_000, 30_000]],
  ])("a wait at the end takes 2 to 30 seconds, longer each time, and by chance: %d", async (jitter, times) => {
    expect(await gaps([page(EMPTY, "A")], jitter, 6)).toEqual(times);
    expect(await gaps([broken], jitter, 6)).toEqual(times);
  });

  test("Retry-After is respected when the request has no time for it", async () => {
    const limited = failure(429, "rate_limited", { "Retry-After": "3600" });
    expect(await gaps([limited, page(EMPTY, "A")], 0, 2)).toEqual([3_600_000, 2_000]);
  });
});

describe("a reset", () => {
  const PETS = json(200, `[${ANIMAL}]`);

  stopTime();

  /** Follows in a session, whose onReset lists the animals. Returns the pages, and the requests with their bookmarks. */
  async function followWithReset(replies: Reply[], cursor: string) {
    const { store, sent } = fakeService(replies, { retry: { attempts: 1 } });
    const session = store.session(OLD);
    const errors: (PetStoreError | undefined)[] = [];
    const start = performance.now();
    const onReset = async (error: PetStoreError | undefined) => {
      errors.push(error);
      await session.pets.list().all(1);
    };
    const ended = follow(session, { cursor, onReset });
    // An error of the iteration is for the test.
    ended.catch(() => {});
    await vi.runAllTimersAsync();
    return {
      pages: await ended,
      errors,
      time: performance.now() - start,
      sent: sent.map(({ path, headers }) => [path, headers["x-d1-bookmark"]]),
    };
  }

  // Promise: follow-resets
  test("at the start with latest: the end is known before the copy is made, and a list has everything up to it", async () => {
    const { pages, errors, sent } = await followWithReset(
      [page(EMPTY, "A", true, NEW), PETS, page(EMPTY, "A")],
      "latest",
    );
    expect(errors).toEqual([undefined]);
    expect(pages).toEqual(["A: "]);
    expect(sent).toEqual([
      ["/events?cursor=latest", OLD],
      ["/pets", NEW],
      ["/events?cursor=A", NEW],
    ]);
  });

  // Promise: follow-resets, resets-drop-bookmarks
  test("after a 410: the bookmark is dropped, the copy is made anew, and the events go on from the end", async () => {
    const replies = [EXPIRED, page(EMPTY, "B", true, NEW), PETS, page(["pet.updated"], "C")];
    const { pages, errors, time, sent } = await followWithReset(replies, "A");
    expect(errors).toMatchObject([{ code: "cursor_expired", status: 410 }]);
    // All consumers get the 410 after a restore, and come back at different times.
    expect(time).toBeGreaterThanOrEqual(2_000);
    expect(time).toBeLessThanOrEqual(4_000);
    expect(pages).toEqual(["B: ", "C: pet.updated"]);
    expect(sent).toEqual([
      ["/events?cursor=A", OLD],
      ["/events?cursor=latest", undefined],
      ["/pets", NEW],
      ["/events?cursor=B", NEW],
    ]);
  });

  // Promise: resets-are-repeated
  test("a failure that may pass repeats it from the end that is then the present one", async () => {
    const replies = [EXPIRED, broken, page(EMPTY, "B"), broken, page(EMPTY, "C"), PETS, page(EMPTY, "C")];
    const { pages, errors, sent } = await followWithReset(replies, "A");
    expect(errors).toHaveLength(2);
    expect(errors[1]).toMatchObject({ code: "cursor_expired" });
    expect(pages).toEqual(["C: "]);
    expect(sent.map(([path]) => path)).toEqual(
      ["A", "latest", "latest"]
        .map((cursor) => `/events?cursor=${cursor}`)
        .concat("/pets", "/events?cursor=latest", "/pets"),
    );
  });

  test("a second 410 resets again", async () => {
    const replies = [EXPIRED, page(EMPTY, "B", true), PETS, EXPIRED, page(EMPTY, "C"), PETS];
    const { pages, errors } = await followWithReset(replies, "A");
    expect(errors).toMatchObject([{ code: "cursor_expired" }, { code: "cursor_expired" }]);
    expect(pages).toEqual(["B: ", "C: "]);
  });

  // Promise: resets-drop-bookmarks
  test("a 410 for the present end ends it", async () => {
    expect(await errorOf(followWithReset([EXPIRED], "A"))).toMatchObject({ code: "cursor_expired" });
  });
});

describe("live", () => {
  stopTime();

  /** What a socket of the test does, as soon as it is there. */
  type Play = (socket: FakeSocket) => unknown;
  class FakeSocket {
    readonly #listeners = new Map<string, (event: never) => void>();
    readonly sent: string[] = [];
    isClosed = false;
    readyState = 1;
    readonly url: string;
    readonly protocols: string[];
    constructor(url: string, protocols: string[]) {
      [this.url, this.protocols] = [url, protocols];
    }
    answers = true;
    send = (text: string) => {
      this.sent.push(text);
      if (this.answers) this.say("pong");
    };
    close = () => void (this.isClosed = true);
    addEventListener = (type: string, listener: (event: never) => void) => void this.#listeners.set(type, listener);
    say = (data: unknown) => this.#listeners.get("message")?.({ data } as never);
    end = (code: number) => this.#listeners.get("close")?.({ code } as never);
  }
  /** Sockets that play these parts, and repeat the last one. */
  function scripted(plays: Play[]) {
    const sockets: FakeSocket[] = [];
    class Scripted extends FakeSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        const play = plays[Math.min(sockets.push(this), plays.length) - 1];
        queueMicrotask(() => play?.(this));
      }
    }
    return { sockets, Scripted };
  }
  const pushed = (types: string[], cursor: string, bookmark = OLD) =>
    `{"events":[${types.map((type) => event(type)).join()}],"cursor":"${cursor}","more":false,"bookmark":"${bookmark}"}`;
  const says =
    (...texts: string[]): Play =>
    ({ say }) =>
      texts.forEach(say);
  const ends =
    (code: number, ...texts: string[]): Play =>
    (socket) => {
      texts.forEach(socket.say);
      socket.end(code);
    };

  /** Follows for a time over sockets that play these parts. */
  async function live(
    plays: Play[],
    {
      replies = [],
      options,
      seconds = 60,
      ...following
    }: FollowOptions & { replies?: Reply[]; options?: Partial<PetStoreOptions>; seconds?: number } = {},
  ) {
    const { sockets, Scripted } = scripted(plays);
    const attempts: unknown[] = [];
    const onAttempt = ({ operation, status, error }: Attempt) => attempts.push([operation, error?.code ?? status]);
    const service = fakeService(replies, { WebSocket: Scripted, onAttempt, retry: { attempts: 1 }, ...options });
    const session = service.store.session();
    const controller = new AbortController();
    const [pages, times]: [string[], number[]] = [[], []];
    const start = performance.now();
    const iterate = async () => {
      const feed = session.events.follow({ live: true, cursor: "A", signal: controller.signal, ...following });
      for await (const { events, cursor } of feed) {
        pages.push(`${cursor}: ${events.map(({ type }) => type).join()}`);
        times.push(Math.round(performance.now() - start));
      }
    };
    const ended = iterate().catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(seconds * 1_000);
    controller.abort();
    const error = await ended;
    expect(sockets.filter(({ isClosed }) => !isClosed)).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
    const asked = service.sent.map(({ path }) => path);
    const places = sockets.map(({ url }) => new URL(url).searchParams.get("cursor"));
    const cursors = pages.map(([cursor]) => cursor);
    return { pages, times, cursors, error, sockets, places, asked, attempts, session, sent: service.sent };
  }

  // Promise: follow-live, live-attempts
  test("yields what a socket says, with exact ids, and the session remembers the bookmark", async () => {
    const { pages, error, sockets, asked, attempts, session } = await live(
      [
        says(
          pushed(EMPTY, "A"),
          pushed(["pet.created", "order.placed"], "B", NEW),
          pushed(["pet.deleted"], "C", "none"),
        ),
      ],
      { types: ["pet.created", "x.y"], limit: 5 },
    );
    expect(error).toBeUndefined();
    expect(pages).toEqual(["B: pet.created,order.placed", "C: pet.deleted"]);
    const [{ url, protocols } = expect.unreachable()] = sockets;
    expect(url).toBe("wss://petstore.test/v1/events/live?cursor=A&type=pet.created&type=x.y");
    expect(protocols).toEqual(["petstore.live.v1", "key"]);
    expect([asked, attempts, session.bookmark]).toEqual([[], [["followLive", 101]], NEW]);
  });

  // Promise: live-goes-on
  test.each([
    [1000, 7_000],
    [1001, 7_000],
    [1006, 7_000],
    // Only the second one brought no events.
    [1008, 3_000],
    [1011, 7_000],
    [1012, 7_000],
  ])("goes on after two sockets that end with %d, after %d ms", async (code, pause) => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const { pages, times, places, asked } = await live([
      ends(code, pushed(["pet.created"], "B"), pushed(["pet.updated"], "C")),
      ends(code, pushed(EMPTY, "C")),
      says(pushed(EMPTY, "C"), pushed(["pet.deleted"], "D")),
    ]);
    expect(pages).toEqual(["B: pet.created", "C: pet.updated", "D: pet.deleted"]);
    expect(times).toEqual([0, 0, pause]);
    expect([places, asked]).toEqual([["A", "C", "C"], []]);
  });

  test("goes on after a socket that is closing, because Node.js waits for the service to close the connection", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0.5);
    const closing: Play = (socket) => {
      socket.say(pushed(["pet.created"], "B"));
      socket.readyState = 2;
    };
    const { times, places } = await live([closing, says(pushed(["pet.deleted"], "C"))]);
    expect([times, places]).toEqual([
      [0, 1_000],
      ["A", "B"],
    ]);
  });

  // Promise: live-goes-on
  test("waits longer after each failure, and not after a socket that was open for a minute", async () => {
    vi.spyOn(Math, "random").mockReturnValue(1);
    const quiet: Play = (socket) => {
      socket.say(pushed(EMPTY, "A"));
      setTimeout(() => socket.end(1012), 61_000);
    };
    // The code allows to come back at once, but it brought no event.
    const shut = ends(1008, pushed(EMPTY, "A"));
    const { attempts, sockets } = await live([shut, shut, shut, quiet, says(pushed(EMPTY, "A"))], { seconds: 90 });
    // After 4, 6 and 10 seconds, 61 seconds of quiet, and 4.
    expect([attempts.length, sockets.length]).toEqual([5, 5]);
    expect((await live([shut], { seconds: 61 + 25 })).sockets).toHaveLength(6);
  });

  // Promise: live-refusals
  test.each([4401, 4403, 4429, 4503, 4404])(
    "after %d, a request says what is wrong, and the feed goes on",
    async (code) => {
      const given: (string | undefined)[] = [];
      const apiKey = (refused?: string) => {
        given.push(refused);
        return given.includes("first") ? "second" : "first";
      };
      const { pages, times, sockets, asked, attempts } = await live([ends(code), says(pushed(["pet.updated"], "C"))], {
        replies: [failure(401, "unauthorized"), page(["pet.created"], "B")],
        options: { apiKey },
      });
      expect([...pages, ...times]).toEqual(["B: pet.created", "C: pet.updated", 0, 0]);
      expect(asked).toEqual(["/events?cursor=A", "/events?cursor=A"]);
      expect(sockets.map(({ protocols }) => protocols[1])).toEqual(["first", "second"]);
      expect(attempts).toEqual(
        ["network", "unauthorized", 200, 101].map((is, index) => [index % 3 ? "listEvents" : "followLive", is]),
      );
    },
  );

  // Promise: live-refusals
  test("a request that is refused too ends it with its error", async () => {
    const { error, pages } = await live([ends(4403)], { replies: [failure(403, "insufficient_scope")] });
    expect([error, pages]).toEqual([
      expect.objectContaining({ code: "insufficient_scope", requestId: "request-1" }),
      [],
    ]);
  });

  // Promise: live-starts
  test("requests bring what is far back, and what a socket refuses as too far", async () => {
    const replies = [page(["pet.created"], "B", true), page(["pet.updated"], "C")];
    const further = [page(["pet.created"], "E", true), page(["pet.created"], "F", true), page(EMPTY, "G")];
    const { cursors, times, places, asked } = await live(
      [ends(4410, pushed(EMPTY, "C"), pushed(["pet.deleted"], "D")), says(pushed(EMPTY, "G"))],
      { cursor: undefined, replies: [...replies, ...further] },
    );
    expect(cursors).toEqual(["B", "C", "D", "E", "F", "G"]);
    expect(asked).toEqual(["", "B", "D", "E", "F"].map((cursor) => `/events${cursor && `?cursor=${cursor}`}`));
    expect([places, times.at(-1)]).toEqual([["C", "G"], 0]);
  });

  // Promise: live-polls
  test("asks where no socket opens three times, and every tenth time it tries again", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const opens = says(pushed(EMPTY, "A"), pushed(["pet.created"], "B"));
    const { pages, times, sockets, asked } = await live([ends(1006), ends(1006), ends(1006), ends(1006), opens], {
      replies: [page(EMPTY, "A")],
      idle: () => 1_000,
    });
    expect([sockets.length, asked.length]).toEqual([5, 7 + 9]);
    // Three sockets and a fourth fail, each with two seconds after it, and each request has one.
    expect([...pages, ...times]).toEqual(["B: pet.created", 8_000 + 16_000]);
    // A runtime without sockets has none to try.
    vi.stubGlobal("WebSocket", undefined);
    const without = await live([], {
      replies: [page(EMPTY, "A")],
      options: { WebSocket: undefined },
      idle: () => 1_000,
      seconds: 5,
    });
    vi.unstubAllGlobals();
    expect(without.asked).toHaveLength(6);
  });

  // Promise: live-customers
  test("a customer asks for pages of the live feed", async () => {
    const apiKey = "petstore_local_t_W10.x";
    const replies = [page(EMPTY, "A"), EXPIRED];
    const { asked, error, places } = await live([ends(4410)], {
      cursor: undefined,
      limit: 7,
      options: { apiKey },
      replies,
    });
    expect(asked).toEqual(["/events/live", "/events/live?cursor=A"]);
    expect([places, error]).toEqual([["A"], expect.objectContaining({ code: "cursor_expired" })]);
  });

  // Promise: live-pings
  test("pings a socket that is open, and gives up one that does not answer", async () => {
    const stopped =
      (...texts: string[]): Play =>
      (socket) => {
        socket.answers = false;
        texts.forEach(socket.say);
      };
    const { sockets, pages } = await live([says(pushed(EMPTY, "A"))], { seconds: 121 });
    expect([sockets.map(({ sent }) => sent), pages]).toEqual([[Array(4).fill("ping")], []]);
    vi.spyOn(Math, "random").mockReturnValue(0);
    // Nothing after the handshake, and nothing after the first ping.
    const dead = await live([stopped(), stopped(pushed(EMPTY, "A")), says(pushed(EMPTY, "A"))], {
      seconds: 10 + 2 + 40 + 2 + 1,
    });
    expect(dead.sockets.map(({ isClosed, sent }) => [isClosed, sent.length])).toEqual([
      [true, 0],
      [true, 1],
      [true, 0],
    ]);
  });

  test("a socket that was lost while the machine slept is replaced within 17 seconds", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0);
    const sleeps: Play = (socket) => {
      socket.answers = false;
      socket.say(pushed(EMPTY, "A"));
      setTimeout(() => vi.setSystemTime(Date.now() + 3_600_000), 6_000);
    };
    const { sockets } = await live([sleeps, says(pushed(EMPTY, "A"))], { seconds: 6 + 17 });
    expect(sockets.map(({ sent }) => sent)).toEqual([["ping"], []]);
  });

  test.each<[string, Play]>([
    ["no JSON", says("<h1>")],
    ["no page", says('{"events":[null],"cursor":"B","more":false}')],
    ["a page that does not go on", says(pushed(["pet.created"], "A"))],
    ["bytes", says(new ArrayBuffer(1) as unknown as string)],
  ])("a message that is %s ends the socket, and the next one goes on", async (_what, play) => {
    const { cursors, places } = await live([play, says(pushed(["pet.created"], "B"))]);
    expect([places, cursors]).toEqual([["A", "A"], ["B"]]);
  });

  // Promise: live-memory
  test("holds 4 MiB of what the program has not taken", async () => {
    const long = pushed(EMPTY, "B").replace("{", `{"x":"${"x".repeat(3 * 2 ** 20)}",`);
    const both = says(long, long.replace('"B"', '"C"'), pushed(EMPTY, "D"));
    const { cursors, places } = await live([both, says(pushed(["pet.created"], "E"))]);
    expect([places, cursors]).toEqual([
      ["A", "C"],
      ["B", "C", "E"],
    ]);
  });

  // Promise: no-error-shows-the-key
  test("no error shows the key when the runtime refuses it as a protocol", async () => {
    class Refusing extends FakeSocket {
      constructor(url: string, protocols: string[]) {
        super(url, protocols);
        throw new SyntaxError(`The subprotocol '${protocols[1]}' is invalid.`);
      }
    }
    const options = { WebSocket: Refusing, apiKey: "a,secret" };
    const { error } = await live([], { options, replies: [failure(401, "unauthorized")] });
    expect(error).toMatchObject({ code: "unauthorized" });
    expect(JSON.stringify(error)).not.toContain("secret");
  });

  // Promise: follow-resets, resets-are-repeated
  test("a reset that fails begins again at the end that is then the present one", async () => {
    let resets = 0;
    const onReset = () => {
      if (++resets === 1) throw new PetStoreError("network", "Because.");
    };
    const { pages, asked, places } = await live([says(pushed(["pet.updated"], "D"))], {
      cursor: "latest",
      onReset,
      replies: [page(EMPTY, "B"), page(EMPTY, "C")],
    });
    expect([asked, places, resets]).toEqual([Array(2).fill("/events?cursor=latest"), ["C"], 2]);
    expect(pages).toEqual(["C: ", "D: pet.updated"]);
  });

  // Promise: follow-ends
  test("a loop that breaks closes its socket, and waits 30 seconds for a key", async () => {
    const { sockets, Scripted } = scripted([says(pushed(["pet.created"], "B"))]);
    const { store } = fakeService([], { WebSocket: Scripted });
    for await (const { cursor } of store.events.follow({ live: true, cursor: "A" })) if (cursor === "B") break;
    expect([sockets.map(({ isClosed }) => isClosed), vi.getTimerCount()]).toEqual([[true], 0]);
    const asks: unknown[] = [];
    const apiKey = (): Promise<string> => new Promise(() => asks.push(1));
    await live([], { options: { apiKey }, seconds: 30 + 4 });
    expect(asks).toHaveLength(2);
  });

  // Promise: follow-ends
  test("a signal closes the socket also while nobody asks for a page, and keeps no listener of a socket", async () => {
    const full = ends(1008, pushed(["pet.created"], "B"));
    const { sockets, Scripted } = scripted([full, says(pushed(["pet.created"], "C"))]);
    const { store } = fakeService([], { WebSocket: Scripted });
    const controller = new AbortController();
    const { signal } = controller;
    const added = vi.spyOn(signal, "addEventListener");
    const removed = vi.spyOn(signal, "removeEventListener");
    const feed = store.events.follow({ live: true, cursor: "A", signal });
    for (const cursor of ["B", "C"]) expect(await feed.next()).toMatchObject({ value: { cursor } });
    controller.abort();
    expect([sockets.map(({ isClosed }) => isClosed), vi.getTimerCount()]).toEqual([[true, true], 0]);
    expect(await feed.next()).toEqual({ done: true, value: undefined });
    const listeners = [added, removed].map(({ mock }) => mock.calls.map(([, listener]) => listener));
    expect(new Set(listeners[0])).toEqual(new Set(listeners[1]));
  });
});
