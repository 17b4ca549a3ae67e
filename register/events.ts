import { EVENT_TYPES } from "../src/feed/table.ts";
import { END, NOTHING, rows } from "./cost.ts";
import type { Rows } from "./row.ts";
import { cursorOf } from "./simulated.ts";

export const events = {
  listEvents: {
    scope: "events:read",
    tool: "hidden",
    sample: async (store) => {
      const { events, cursor, more } = await store.events.list({
        types: ["pet.created"],
      });
      for (const event of events) console.log(event.type, event.data);
      console.log(cursor, more);
    },
    costs: {
      "the newest place of the feed": [rows(5), 200, "/v1/events?cursor=latest"],
      "a page of 100 events": [rows(107), 200, "/v1/events"],
      "a page of events of one type": [rows(509), 200, "/v1/events?type=category.deleted"],
      "a page of no new events": [rows(2), 200, `/v1/events?cursor=${END}`],
    },
    world: {
      weight: 5,
      prepare({ random, known }) {
        const cursor = cursorOf(random, known);
        const types = random.chance(0.5) ? { types: EVENT_TYPES.filter(() => random.chance(0.3)) } : {};
        const query = { cursor, limit: random.between(1, 8), ...(types.types?.length !== 0 && types) };
        return async (client) => {
          const page = await client.events.list(query);
          if (page.more) await client.events.list({ ...query, cursor: page.cursor });
        };
      },
      // test/world/feed.ts
      answer: "judged elsewhere",
    },
  },
  followLive: {
    scope: "events:read",
    tool: "hidden",
    sample: async (store) => {
      for await (const { events } of store.events.follow({ live: true })) {
        for (const event of events) console.log(event.type, event.data);
      }
    },
    // The object reads the feed.
    costs: { "a page of the live feed": [NOTHING, 200, "/v1/events/live"] },
    world: "listeners",
  },
} satisfies Rows;
