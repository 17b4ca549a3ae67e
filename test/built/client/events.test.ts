import { describe, expect, expectTypeOf, test, vi } from "vitest";
import {
  type Animal,
  type Category,
  type EventPage,
  type Events,
  type FollowOptions,
  type Order,
  PetStoreError,
  type PetStoreEvent,
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

/** Follows the feed up to its end. Returns the pages, as their types and the cursor. */
async function follow(
  { events: feed }: { events: Events },
  options: FollowOptions = {},
): Promise<[types: string[], cursor: string][]> {
  const controller = new AbortController();
  const idle = () => {
    if (controller.signal.aborted) throw new Error("The iteration goes on.");
    controller.abort();
    return 0;
  };
  const pages: [string[], string][] = [];
  for await (const { events, cursor } of feed.follow({ idle, signal: controller.signal, ...options })) {
    pages.push([events.map(({ type }) => type), cursor]);
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
    const narrow = (one: PetStoreEvent) => {
      expectTypeOf(one.type).toExtend<string>();
      switch (one.type) {
        case "pet.created":
        case "pet.updated":
          return expectTypeOf(one.data).toEqualTypeOf<Animal>();
        case "category.created":
        case "category.updated":
          return expectTypeOf(one.data).toEqualTypeOf<Category>();
        case "pet.deleted":
        case "category.deleted":
          return expectTypeOf(one.data).toEqualTypeOf<{ id: bigint }>();
        case "order.placed":
        case "order.shipped":
        case "order.cancelled":
        case "order.updated":
          return expectTypeOf(one.data).toEqualTypeOf<Order>();
        default:
          return expectTypeOf(one.data).toEqualTypeOf<unknown>();
      }
    };
    expectTypeOf(narrow).toBeFunction();
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
      [["pet.created", "pet.updated"], "A"],
      [[], "B"],
      [["pet.deleted"], "C"],
      [[], "D"],
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
    expect(await pages).toEqual([
      [["pet.created"], "A"],
      [["pet.deleted"], "B"],
    ]);
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
    expect(pages).toEqual([[[], "A"]]);
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
    expect(pages).toEqual([
      [[], "B"],
      [["pet.updated"], "C"],
    ]);
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
    expect(pages).toEqual([[[], "C"]]);
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
    expect(pages).toEqual([
      [[], "B"],
      [[], "C"],
    ]);
  });

  // Promise: resets-drop-bookmarks
  test("a 410 for the present end ends it", async () => {
    expect(await errorOf(followWithReset([EXPIRED], "A"))).toMatchObject({ code: "cursor_expired" });
  });
});
