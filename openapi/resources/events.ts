// The description of the feed.
import { CURSOR_OF_EVENTS, INT64, openList, ref, type Resource } from "../describe.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { listEvents, MAX_TYPES, WINDOW } from "../../src/events/list-events.ts";

const CREATED = {
  id: "evt_00000000000000025d41402a",
  type: "pet.created",
  timestamp: "2026-11-22T08:30:00.000Z",
  version: 1,
  data: { id: 1, name: "Max", categoryId: 7, status: "available" },
};
const PAGE = { events: [CREATED], cursor: CURSOR_OF_EVENTS.example, more: false };

export const events: Resource = {
  tag: {
    name: "Events",
    description:
      "A feed of every change of an animal, a category or an order, in the order of the changes. Each change is there once, and a cursor stays valid until the feed no longer has its place. [Keeping a copy](/docs/events) shows how to follow the feed.",
  },
  schemas: {
    Event: {
      type: "object",
      description: "A change. Other fields may come: ignore those that you do not know.",
      properties: {
        id: {
          type: "string",
          description: "Unique for good. The ids of a feed ascend as texts.",
          pattern: "^evt_[0-9a-f]{24}$",
          maxLength: CREATED.id.length,
          examples: [CREATED.id],
        },
        type: {
          description: "What happened. The list may grow: ignore types that you do not know.",
          ...openList("EventType"),
          examples: [CREATED.type],
        },
        timestamp: {
          type: "string",
          format: "date-time",
          maxLength: CREATED.timestamp.length,
          description:
            "When it happened, in UTC. Events are in the order of the changes, also when a clock was set back.",
          examples: [CREATED.timestamp],
        },
        version: {
          type: "integer",
          format: "int32",
          minimum: 1,
          maximum: 2 ** 31 - 1,
          description: "The version of the resource after the change. The versions of a resource ascend without a gap.",
          examples: [CREATED.version],
        },
        data: {
          description: "The resource after the change. Of a deleted one, its `id`.",
          anyOf: [ref("Animal"), ref("Category"), ref("Order"), ref("Deleted")],
          examples: [CREATED.data],
        },
      },
      required: Object.keys(CREATED),
      examples: [CREATED],
    },
    Deleted: {
      type: "object",
      description: "A resource that is deleted.",
      properties: { id: { ...INT64, description: "The identifier that it had.", examples: [1] } },
      required: ["id"],
      examples: [{ id: 1 }],
    },
    EventPage: {
      type: "object",
      description: "A part of the feed.",
      properties: {
        events: {
          type: "array",
          description: "Events in the order of the changes. There may be none, also when there are more.",
          items: ref("Event"),
          maxItems: MAX_LIMIT,
          examples: [[CREATED]],
        },
        cursor: {
          type: "string",
          description: "Where the next request goes on. Opaque.",
          pattern: CURSOR_OF_EVENTS.pattern,
          maxLength: PAGE.cursor.length,
          examples: [PAGE.cursor],
        },
        more: {
          type: "boolean",
          description: "Whether the feed goes on after the cursor. If not, nothing newer exists yet.",
          examples: [PAGE.more],
        },
      },
      required: Object.keys(PAGE),
      examples: [PAGE],
    },
    EventType: {
      type: "string",
      enum: [...EVENT_TYPES],
      description: "The types of events in this version.",
      examples: [CREATED.type],
    },
  },
  operations: {
    listEvents: {
      handlers: listEvents,
      stability: "beta",
      summary: "Follow the changes",
      description: `Returns the changes after a place in the feed. A key sees the types whose resource it may read: \`pets:read\` allows \`pet.*\` and \`category.*\`, \`store:read\` allows \`order.*\`. An order that is placed, shipped or cancelled is two events: its own, then that of its animal. A change of its \`reference\` alone is one, \`order.updated\`. A request that wants only some types reads about ${WINDOW.toLocaleString("en")} events at most, so a page may be empty and have \`more\`. The feed ignores preconditions and \`Cache-Control\`.`,
      parameters: {
        cursor: {
          description:
            "The place after which the page starts: the `cursor` of an earlier response, or `latest` for the present end. Without it, the page starts with the oldest event.",
          schema: { type: "string", maxLength: PAGE.cursor.length, pattern: "^(?:latest|[0-9a-f]{32})$" },
          example: PAGE.cursor,
        },
        limit: {
          description: `Maximum number of events to return. Defaults to ${MAX_LIMIT}.`,
          schema: { type: "integer", format: "int32", minimum: 1, maximum: MAX_LIMIT },
          example: MAX_LIMIT,
        },
        type: {
          description: "Only events of these types. May be repeated.",
          schema: { type: "array", items: ref("EventType"), minItems: 1, maxItems: MAX_TYPES },
        },
      },
      success: {
        status: 200,
        description: "Events, and where to go on.",
        body: { schema: "EventPage", example: PAGE },
      },
      errors: ["cursor_expired"],
    },
  },
};
