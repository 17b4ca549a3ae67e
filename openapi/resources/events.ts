// The description of the feed.
import type { SchemaObject } from "openapi3-ts/oas31";
import {
  CURSOR_OF_EVENTS,
  INT64,
  limitParameter,
  object,
  type Parameter,
  ref,
  type Resource,
  UNKNOWN_VALUE,
  VERSION,
  ok,
  time,
  values,
} from "../describe.ts";
import { EVENT_TYPES, type EventType } from "../../src/feed/table.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { WINDOW } from "../../src/events/list-events.ts";
import { BOOKMARK } from "../../src/http/open-session.ts";
import { PROTOCOL } from "../../src/live/handshake.ts";
import { FULL, NO_LIVE_FEED, TOO_FAR, TOO_MANY } from "../../src/live/refusals.ts";
import { MAX_TYPES } from "../../src/feed/wanted.ts";

const CREATED = {
  id: "evt_00000000000000025d41402a",
  type: "pet.created",
  timestamp: "2026-11-22T08:30:00.000Z",
  version: 1,
  data: { id: 1, name: "Max", categoryId: 7, status: "available" },
};
export const ORDER = {
  id: 1,
  petId: 1,
  quantity: 1,
  status: "placed",
  createdAt: CREATED.timestamp,
  shipDate: null,
  complete: false,
};
const PAGE = { events: [CREATED], cursor: CURSOR_OF_EVENTS.example, more: false };

const LIVE_PAGE = { ...PAGE, bookmark: "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683" };
const PAGE_PROPERTIES: { [name: string]: SchemaObject } = {
  events: {
    type: "array",
    description:
      "Events in the order of the changes. There may be none, also when there are more. The list of types may grow: ignore types that you do not know.",
    items: { anyOf: [ref("Event"), ref("UnknownEvent")] },
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
};
const TYPE_PARAMETER = {
  description: "Only events of these types. May be repeated.",
  schema: { type: "array", items: ref("EventType"), minItems: 1, maxItems: MAX_TYPES },
  example: [CREATED.type],
} satisfies Parameter;
const CURSOR_SCHEMA: SchemaObject = {
  type: "string",
  maxLength: PAGE.cursor.length,
  pattern: "^(?:latest|[0-9a-f]{32})$",
};

/** The schema of each type. Types with the same data share one. */
export const SCHEMAS: { [Type in EventType]: "PetEvent" | "CategoryEvent" | "OrderEvent" | "DeletedEvent" } = {
  "pet.created": "PetEvent",
  "pet.updated": "PetEvent",
  "pet.deleted": "DeletedEvent",
  "category.created": "CategoryEvent",
  "category.updated": "CategoryEvent",
  "category.deleted": "DeletedEvent",
  "order.placed": "OrderEvent",
  "order.shipped": "OrderEvent",
  "order.cancelled": "OrderEvent",
  "order.updated": "OrderEvent",
};

/** An event whose `type` and `data` are as in the example. */
function eventOf(schema: string, description: string, of: SchemaObject, type: string, data: object): SchemaObject {
  const types = EVENT_TYPES.filter((one) => SCHEMAS[one] === schema);
  return object(
    description,
    { ...CREATED, type, data },
    {
      id: {
        type: "string",
        description: "Unique for good. The ids of a feed ascend as texts.",
        pattern: "^evt_[0-9a-f]{24}$",
        maxLength: CREATED.id.length,
        examples: [CREATED.id],
      },
      type: {
        description: "What happened.",
        ...(types.length > 0 ? { type: "string", enum: types } : { ...UNKNOWN_VALUE, not: { enum: [...EVENT_TYPES] } }),
        examples: [type],
      },
      timestamp: time(
        "When it happened, in UTC. Events are in the order of the changes, also when a clock was set back.",
      ),
      version: {
        ...VERSION,
        description: "The version of the resource after the change. The versions of a resource ascend without a gap.",
      },
      data: { ...of, examples: [data] },
    },
  );
}

export const events: Resource = {
  tag: {
    name: "Events",
    description:
      "A feed of every change of an animal, a category or an order, in the order of the changes. Each change is there once, and a cursor stays valid until the feed no longer has its place. [Keeping a copy](/docs/events) shows how to follow the feed.",
  },
  schemas: {
    Event: {
      description:
        "A change of a type that this version has. `type` tells what `data` is. Other fields may come: ignore those that you do not know.",
      oneOf: [...new Set(Object.values(SCHEMAS))].map(ref),
      discriminator: {
        propertyName: "type",
        mapping: Object.fromEntries(Object.entries(SCHEMAS).map(([type, schema]) => [type, ref(schema).$ref])),
      },
      examples: [CREATED],
    },
    PetEvent: eventOf(
      "PetEvent",
      "A new or changed animal.",
      { ...ref("Animal"), description: "The animal after the change." },
      CREATED.type,
      CREATED.data,
    ),
    CategoryEvent: eventOf(
      "CategoryEvent",
      "A new or changed category.",
      { ...ref("Category"), description: "The category after the change." },
      "category.created",
      { id: 7, name: "Dogs" },
    ),
    OrderEvent: eventOf(
      "OrderEvent",
      "A new or changed order.",
      { ...ref("Order"), description: "The order after the change." },
      "order.placed",
      ORDER,
    ),
    DeletedEvent: eventOf(
      "DeletedEvent",
      "A resource is deleted.",
      { ...ref("Deleted"), description: "The `id` that it had." },
      "pet.deleted",
      { id: 1 },
    ),
    UnknownEvent: eventOf(
      "UnknownEvent",
      "An event of a type that a later version adds. Ignore it.",
      { description: "Depends on the type." },
      "pet.moved",
      { id: 1 },
    ),
    Deleted: object(
      "A resource that is deleted.",
      { id: 1 },
      { id: { ...INT64, description: "The identifier that it had.", examples: [1] } },
    ),
    EventPage: object("A part of the feed.", PAGE, PAGE_PROPERTIES),
    LivePage: object(
      "A part of the feed, as it grows.",
      LIVE_PAGE,
      {
        ...PAGE_PROPERTIES,
        bookmark: {
          type: "string",
          description:
            "The `x-d1-bookmark` for requests that have to see these events. Absent while the service knows none.",
          pattern: BOOKMARK.source,
          maxLength: LIVE_PAGE.bookmark.length,
          examples: [LIVE_PAGE.bookmark],
        },
      },
      Object.keys(PAGE),
    ),
    EventType: values(EVENT_TYPES, "The types of events in this version."),
  },
  operations: {
    listEvents: {
      stability: "beta",
      summary: "Follow the changes",
      agents: "hidden",
      description: `Returns the changes after a place in the feed. A key sees the types whose resource it may read: \`pets:read\` allows \`pet.*\` and \`category.*\`, \`store:read\` allows \`order.*\`. An order that is placed, shipped or cancelled is two events: its own, then that of its animal. A change of its \`reference\` alone is one, \`order.updated\`. A request that wants only some types reads ${WINDOW.toLocaleString("en")} events at most, so a page may be empty and have \`more\`. Events are kept for 7 days, unless the operator sets another time. A cursor that is older gets a 410: request \`cursor=latest\`, list the resources again with the bookmark of that response, and go on from the new cursor ([Keeping a copy](/docs/events#when-the-cursor-has-expired)). The feed ignores preconditions and \`Cache-Control\`.`,
      parameters: {
        cursor: {
          description:
            "The place after which the page starts: the `cursor` of an earlier response, or `latest` for the present end. Without it, the page starts with the oldest event.",
          schema: CURSOR_SCHEMA,
          example: "latest",
        },
        limit: limitParameter("events", MAX_LIMIT),
        type: TYPE_PARAMETER,
      },
      success: ok("Events, and where to go on.", "EventPage", PAGE),
      errors: {
        cursor_expired:
          "The feed does not have the place of this cursor, or no longer. Start again: take cursor=latest, list everything with the bookmark of that response into an empty copy, go on from the new cursor, and apply an event only if its version is higher than that of the copy.",
      },
    },
    followLive: {
      stability: "beta",
      summary: "Follow the changes as they happen",
      agents: "hidden",
      description: `The feed as it grows, for pages and programs that stay connected. With \`Upgrade: websocket\` it opens a socket, with \`Accept: text/event-stream\` a stream of events, and otherwise it returns one page at once. [A live feed](/docs/events#a-live-feed) describes the messages and the codes with which a socket closes. A key sees what \`listEvents\` gives it. A customer token sees \`pet.*\` and \`category.*\` with \`pets:read\`, and the events of its customer's own orders with \`orders:own\`. A page of a browser sends its token as the second subprotocol after \`${PROTOCOL}\`. The place of \`Last-Event-ID\` comes before that of \`cursor\`.`,
      parameters: {
        cursor: {
          description:
            "The place after which the first page starts: the `cursor` of an earlier page or of `listEvents`, or `latest` for the present end, as without it.",
          schema: CURSOR_SCHEMA,
          example: "latest",
        },
        type: TYPE_PARAMETER,
      },
      success: { ...ok("Events, and where to go on.", "LivePage", LIVE_PAGE), stream: "text/event-stream" },
      errors: {
        invalid_request: "dryRun is unknown. This operation takes the query parameters cursor, type.",
        not_found: NO_LIVE_FEED,
        cursor_expired: TOO_FAR,
        rate_limited: TOO_MANY,
        service_unavailable: FULL,
      },
    },
  },
};
