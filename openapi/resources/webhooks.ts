// The description of the webhooks, and of the messages that receivers get.
import type { PathsObject, SchemaObject } from "openapi3-ts/oas31";
import {
  CURSOR_OF_EVENTS,
  INT64,
  int32,
  jsonContent,
  limitParameter,
  listed,
  fieldsOf,
  object,
  objectSchema,
  openList,
  UNKNOWN_VALUE,
  pageParameters,
  ref,
  type Resource,
  arrayOf,
  added,
  ok,
  time,
  values,
} from "../describe.ts";
import { ORDER, SCHEMAS } from "./events.ts";
import { BOOKMARK } from "../../src/http/open-session.ts";
import { MAX_LIMIT } from "../../src/http/paging.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import { newWebhook } from "../../src/webhooks/create-webhook.ts";
import { DELIVERY_CURSOR, DELIVERY_STATUSES } from "../../src/webhooks/list-deliveries.ts";
import { replay } from "../../src/webhooks/replay-webhook.ts";
import { DISABLED_REASONS } from "../../src/webhooks/table.ts";
import { webhookPatch } from "../../src/webhooks/update-webhook.ts";
import { MAX_URL_CHARACTERS } from "../../src/webhooks/url.ts";
import { MAX_CONCURRENCY, MAX_TYPES, MAX_WEBHOOKS } from "../../src/webhooks/webhook.ts";

const TAG = "Webhooks";
const TIME = "2026-11-22T08:30:00.000Z";
const CREATED = {
  id: 1,
  url: "https://hooks.example.com/pets",
  types: ["pet.created", "pet.updated"],
  enabled: true,
  createdBy: "key_1f0c5d2a9b7e",
  createdAt: TIME,
  concurrency: MAX_CONCURRENCY,
};
const STATE = { health: "ok", pending: 0, cursor: CURSOR_OF_EVENTS.example, lastSuccessAt: TIME, resets: 0 };
const SECRET = { secret: "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=" };
const TEST = { response: 204, milliseconds: 87 };
const DELIVERY = {
  event: "evt_00000000000000025d41402a",
  type: "pet.created",
  status: "delivered",
  attempts: 1,
  lastAttemptAt: TIME,
  response: 204,
};
const MESSAGE_ID = "msg_AAECAwQFBgcICQoLDA0ODw";
const RESET = {
  id: MESSAGE_ID,
  type: "feed.reset",
  timestamp: TIME,
  data: { cursor: CURSOR_OF_EVENTS.example, bookmark: "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683" },
};
const TEST_MESSAGE = { id: MESSAGE_ID, type: "webhook.test", timestamp: TIME, data: {} };

const count = (description: string, maximum: number): SchemaObject => ({
  ...int32(0, maximum),
  description,
  examples: [0],
});
const URL: SchemaObject = {
  type: "string",
  format: "uri",
  minLength: 1,
  maxLength: MAX_URL_CHARACTERS,
  description:
    "Where the deliveries go: `https`, a public DNS name, and neither port nor user, password or fragment. Stored as `URL.href` of the WHATWG.",
  examples: [CREATED.url],
};
const TYPES: SchemaObject = {
  type: "array",
  items: ref("EventType"),
  minItems: 1,
  maxItems: MAX_TYPES,
  uniqueItems: true,
  description: "The types of events to deliver. The key needs the scope of each: `pets:read` or `store:read`.",
  examples: [CREATED.types],
};
const ENABLED: SchemaObject = {
  type: "boolean",
  description: "Whether it delivers. A disabled webhook keeps its place in the feed.",
  examples: [true],
};
const CONCURRENCY: SchemaObject = {
  ...int32(1, MAX_CONCURRENCY),
  description: `The most attempts at once. ${MAX_CONCURRENCY} unless set. Its receiver never gets two of one resource at once.`,
  examples: [MAX_CONCURRENCY],
};
const CURSOR: SchemaObject = {
  type: "string",
  pattern: CURSOR_OF_EVENTS.pattern,
  maxLength: CURSOR_OF_EVENTS.example.length,
  description: "A place in the feed, as `listEvents` has it.",
  examples: [CURSOR_OF_EVENTS.example],
};
/** Two places in the feed. */
const range = (description: string, places: { [name: string]: string }): SchemaObject => ({
  type: "object",
  description,
  properties: Object.fromEntries(
    Object.entries(places).map(([name, place]) => [name, { ...CURSOR, description: place }]),
  ),
  required: Object.keys(places),
});
const RESPONSE: SchemaObject = {
  ...int32(100, 999),
  description: "The status of the last response. Absent when there was none.",
  examples: [204],
};
const ERROR: SchemaObject = {
  description: "Why the last attempt got no response, or why none follows. Absent otherwise.",
  ...openList("DeliveryError"),
  examples: ["timeout"],
};
const message = (description: string, example: typeof TEST_MESSAGE | typeof RESET, data: SchemaObject): SchemaObject =>
  object(description, example, {
    id: { type: "string", pattern: "^msg_[0-9A-Za-z_-]{22}$", maxLength: MESSAGE_ID.length, examples: [MESSAGE_ID] },
    type: { type: "string", const: example.type },
    timestamp: time("When the service made it."),
    data,
  });

const webhook = object(
  "Delivers events to an address. Its secret and its state have operations of their own.",
  CREATED,
  {
    id: { ...INT64, description: "Unique identifier, assigned by the service.", examples: [1] },
    url: URL,
    types: { ...TYPES, items: openList("EventType") },
    enabled: ENABLED,
    disabledReason: {
      description: "Why the service disabled it. Absent when it did not. Enabling removes it.",
      ...openList("DisabledReason"),
      examples: ["gone"],
    },
    createdBy: {
      type: "string",
      minLength: 1,
      maxLength: 100,
      pattern: "^[\\s\\S]+$",
      description: "The id of the API key that created it.",
      examples: [CREATED.createdBy],
    },
    createdAt: time("When it was created."),
    concurrency: {
      ...CONCURRENCY,
      description: `${CONCURRENCY.description} Absent in the stored response to a request of a time before this field.`,
    },
  },
  Object.keys(CREATED).filter((name) => name !== "concurrency"),
);

const WEBHOOK_ID = { webhookId: { description: "Identifier of the webhook.", schema: INT64, example: CREATED.id } };

const HIDDEN = { stability: "beta", agents: "hidden" } as const;
const OF_A_WEBHOOK = { ...HIDDEN, parameters: WEBHOOK_ID };

/** What the events of a resource are about, by the first part of their type. */
const DATA: { [resource: string]: object } = {
  pet: { id: 1, name: "Max", categoryId: 7, status: "available" },
  category: { id: 7, name: "Camelids" },
  order: ORDER,
};
const eventOf = (type: string) => ({
  id: DELIVERY.event,
  type,
  timestamp: TIME,
  version: 1,
  data: type.endsWith(".deleted") ? { id: 1 } : DATA[type.split(".")[0] ?? ""],
});
const MESSAGES: [type: string, schema: string, example: object][] = [
  ...EVENT_TYPES.map((type): [string, string, object] => [type, SCHEMAS[type], eventOf(type)]),
  [TEST_MESSAGE.type, "TestMessage", TEST_MESSAGE],
  [RESET.type, "FeedReset", RESET],
];
const EVENT_ID = "^(?:evt_[0-9a-f]{24}|msg_[0-9A-Za-z_-]{22})$";
const SIGNED = {
  "webhook-id": {
    description: "The id of the event. It is the same for every attempt, so it tells a repetition.",
    schema: { type: "string", pattern: EVENT_ID, maxLength: DELIVERY.event.length },
    example: DELIVERY.event,
  },
  "webhook-timestamp": {
    description: "When the attempt was made, in seconds since 1970. Refuse one that is more than 5 minutes away.",
    schema: { type: "string", pattern: "^[0-9]+$", maxLength: 20 },
    example: "1795336201",
  },
  "webhook-signature": {
    description:
      "One signature or several, each `v1,` and an HMAC-SHA-256 in Base64, with a blank between them. One has to be right.",
    schema: { type: "string", pattern: "^v1,", maxLength: 200 },
    example: "v1,/GtHdpFGtpsrMvqB3WGcJj8pkHIjgmmNji3lYcJnHyo=",
  },
} as const;

/** The requests that receivers get (the field `webhooks` of OpenAPI 3.1), by the type of their event. */
export const deliveries: PathsObject = Object.fromEntries(
  MESSAGES.map(([type, schema, example]) => [
    type,
    {
      post: {
        operationId: `receive${type.replace(/(?:^|[.])([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
        summary: type,
        description: "Signed as Standard Webhooks 1.0 says. Each event comes at least once.",
        security: [],
        tags: [TAG],
        parameters: Object.entries(SIGNED).map(([name, header]) => ({ name, in: "header", required: true, ...header })),
        requestBody: { required: true, content: jsonContent({ schema, example }) },
        responses: {
          "2XX": { description: "The receiver has it, for good." },
          410: { description: "The receiver is gone. The service disables the webhook." },
          default: { description: "The service tries again." },
        },
      },
    },
  ]),
);

export const webhooks: Resource = {
  tag: {
    name: TAG,
    description:
      "Each webhook delivers the events of the feed to an address: at least once, signed, and in the order of the versions of a resource. The secret, the state and the deliveries of a webhook have no version: `If-Match` and `If-None-Match` are a 400 there. [Receiving events](/docs/webhooks) shows a receiver.",
  },
  missing: "There is no webhook with this id.",
  schemas: {
    NewWebhook: fieldsOf(
      "A webhook to add. Other fields, `id` among them, are ignored.",
      objectSchema(newWebhook(), { url: URL, types: TYPES, concurrency: CONCURRENCY }),
      { url: CREATED.url, types: CREATED.types },
    ),
    WebhookPatch: fieldsOf(
      "The fields of a webhook to change. Other fields are ignored.",
      objectSchema(webhookPatch(), { url: URL, types: TYPES, enabled: ENABLED, concurrency: CONCURRENCY }),
      { enabled: false },
    ),
    Webhook: webhook,
    ListedWebhook: listed(webhook),
    Webhooks: arrayOf("ListedWebhook", "Webhooks in the order of the request.", MAX_LIMIT, [CREATED]),
    DisabledReason: values(DISABLED_REASONS, "`gone`: the receiver responded to an event with 410."),
    WebhookState: object(
      "What a webhook does now.",
      STATE,
      {
        health: {
          description: "`failing` when nothing succeeded for 30 seconds, until a success.",
          ...openList("WebhookHealth"),
        },
        pending: count("Deliveries that wait for an attempt.", 1_000),
        cursor: { ...CURSOR, description: "The place up to which it has read the feed." },
        lastSuccessAt: time("When a delivery last succeeded. Absent when none did."),
        nextAttemptAt: time("When the next attempt of a delivery that waits may start. Absent when none waits."),
        resets: count("How often the feed lost the place.", 2 ** 31 - 1),
        replay: range("The replay that runs. Absent when none does.", {
          cursor: "The place up to which it has read the feed.",
          end: "The place where it ends.",
        }),
        skipped: range("What a replay with `latest` skips. Only in its response.", {
          from: "The place that the webhook had reached.",
          to: "The place from which it goes on.",
        }),
      },
      ["health", "pending", "cursor", "resets"],
    ),
    WebhookHealth: values(["ok", "failing"], "The states of health in this version."),
    WebhookSecret: object("The secret that signs the deliveries. Keep it where no one else reads it.", SECRET, {
      secret: {
        type: "string",
        pattern: "^whsec_[0-9A-Za-z+/]{43}=$",
        maxLength: SECRET.secret.length,
        examples: [SECRET.secret],
      },
    }),
    WebhookTest: object(
      "How the receiver responded to a test.",
      TEST,
      { response: RESPONSE, error: ERROR, milliseconds: count("How long the attempt lasted.", 60_000) },
      ["milliseconds"],
    ),
    WebhookReplay: fieldsOf(
      "The place to go on from.",
      objectSchema(replay(), {
        cursor: {
          type: "string",
          pattern: "^(?:latest|[0-9a-f]{32})$",
          maxLength: CURSOR_OF_EVENTS.example.length,
          description: "A cursor of `listEvents`, or `latest` for the present end.",
          examples: ["latest"],
        },
      }),
      { cursor: "latest" },
    ),
    Delivery: object(
      "The delivery of an event.",
      DELIVERY,
      {
        event: {
          type: "string",
          pattern: EVENT_ID,
          maxLength: DELIVERY.event.length,
          description: "The id of the event, which is the `webhook-id` of its attempts.",
          examples: [DELIVERY.event],
        },
        type: {
          description: "The type of the event, or `feed.reset`.",
          anyOf: [ref("EventType"), { type: "string", const: RESET.type }, UNKNOWN_VALUE],
          examples: [DELIVERY.type],
        },
        status: { description: "What became of it.", ...openList("DeliveryStatus"), examples: [DELIVERY.status] },
        attempts: count("The attempts that count. Probes of an endpoint that fails do not.", 10),
        lastAttemptAt: time("When the last attempt ended. Absent before the first one."),
        nextAttemptAt: time("When its own next attempt is due. Absent when it is finished."),
        response: RESPONSE,
        error: ERROR,
        replay: { type: "boolean", const: true, description: "That a replay delivers it. Absent otherwise." },
      },
      ["event", "type", "status", "attempts"],
    ),
    DeliveryStatus: { ...values(DELIVERY_STATUSES, "`failed`: no attempt follows."), examples: [DELIVERY.status] },
    DeliveryError: values(
      ["timeout", "connection", "no_room"],
      "`timeout`, `connection`: an attempt got no response. `no_room`: the delivery was given up, because 1,000 wait and others succeed.",
    ),
    Deliveries: arrayOf(
      "Delivery",
      "Deliveries, the newest first: those that wait, then those that finished.",
      MAX_LIMIT,
      [DELIVERY],
    ),
    TestMessage: message("A test. It says nothing about the store.", TEST_MESSAGE, {
      type: "object",
      description: "Empty.",
      examples: [{}],
    }),
    FeedReset: message(
      "Events may be missing: list everything anew.",
      RESET,
      object("Drop the copy and its bookmark, and list everything with this bookmark.", RESET.data, {
        cursor: { ...CURSOR, description: "The place in the feed from which events follow." },
        bookmark: {
          type: "string",
          pattern: BOOKMARK.source,
          maxLength: RESET.data.bookmark.length,
          description: "The `x-d1-bookmark` for the lists: a replica that lags would miss changes.",
          examples: [RESET.data.bookmark],
        },
      }),
    ),
  },
  operations: {
    listWebhooks: {
      stability: "beta",
      summary: "List webhooks",
      agents: {
        description: "Lists webhooks: the addresses that get events. Only a person can change them.",
        without: ["include"],
      },
      description:
        "Returns webhooks in ascending order of id, or as `sort` says. If there are more, the `Link` header holds the address of the next page, with the same parameters. A list ignores preconditions.",
      parameters: pageParameters("webhooks"),
      success: ok("Webhooks.", "Webhooks", [CREATED]),
    },
    createWebhook: {
      ...HIDDEN,
      summary: "Add a webhook",
      description: `Delivers the events that follow. List with the bookmark of this response to get what was there before. There may be ${MAX_WEBHOOKS} webhooks. The key also needs the read scope of each type. With an \`Idempotency-Key\`, the webhook is created exactly once, even if the request is repeated.`,
      idempotencyKey: "webhook",
      body: { description: "A webhook", schema: "NewWebhook", example: { url: CREATED.url, types: CREATED.types } },
      success: added("The webhook was created.", "Webhook", { ...CREATED, id: 2 }),
      errors: {
        invalid_request: `url is required: an https address of at most ${MAX_URL_CHARACTERS} characters, with a public DNS name as its host, and without port, user, password and fragment; types is required: an array of 1 to ${MAX_TYPES} of ${EVENT_TYPES.join(", ")}, without repetition.`,
        webhook_limit: `There are ${MAX_WEBHOOKS} webhooks already.`,
      },
    },
    getWebhook: {
      ...OF_A_WEBHOOK,
      summary: "Fetch a webhook",
      description: "Returns a webhook, without its secret.",
      success: ok("The webhook.", "Webhook", CREATED),
    },
    updateWebhook: {
      ...OF_A_WEBHOOK,
      summary: "Change a webhook",
      description:
        "Applies a JSON Merge Patch (RFC 7396). To set `url`, `types` or `enabled: true`, the key needs the read scope of each type that the webhook then has. A patch that changes nothing leaves the version unchanged.",
      idempotencyKey: "change",
      body: { description: "The fields to change", schema: "WebhookPatch", example: { enabled: true } },
      success: ok("The whole webhook.", "Webhook", CREATED),
      errors: {
        invalid_request: "enabled has to be true or false.",
      },
    },
    deleteWebhook: {
      ...HIDDEN,
      summary: "Delete a webhook",
      description: "Ends the deliveries. One attempt may still be on its way.",
      // What the example of a creation makes.
      parameters: { webhookId: { ...WEBHOOK_ID.webhookId, example: 2 } },
      success: { status: 204, description: "The webhook is deleted." },
    },
    getWebhookState: {
      stability: "beta",
      summary: "Fetch the state of a webhook",
      agents: { description: "Says whether the receiver of a webhook responds, and how many deliveries wait." },
      description: "Says whether its receiver responds, and what waits. It changes without a new version.",
      parameters: WEBHOOK_ID,
      success: ok("The state.", "WebhookState", STATE),
    },
    getWebhookSecret: {
      ...OF_A_WEBHOOK,
      summary: "Fetch the secret of a webhook",
      description: "Returns the newest secret. No other response shows it, beside that of a rotation.",
      success: ok("The secret.", "WebhookSecret", SECRET),
    },
    rotateWebhookSecret: {
      ...OF_A_WEBHOOK,
      summary: "Rotate the secret of a webhook",
      description:
        "Makes a new secret. For 24 hours, each delivery also has a signature with the one before. A repeated request rotates again: after a lost response, `getWebhookSecret` returns the newest secret.",
      success: ok("The new secret.", "WebhookSecret", SECRET),
    },
    testWebhook: {
      ...OF_A_WEBHOOK,
      summary: "Test a webhook",
      description:
        "Sends a signed `webhook.test`, also when the webhook is disabled, and says how the receiver responded within 15 seconds. A success ends the pause of a webhook that is `failing`. A webhook has one test at once, and ten a minute.",
      success: ok("How the receiver responded.", "WebhookTest", TEST),
      errors: {
        rate_limited: "A test of this webhook runs, or it had ten within a minute.",
      },
    },
    replayWebhook: {
      ...OF_A_WEBHOOK,
      summary: "Deliver events again",
      description:
        "Delivers the events from a place in the feed up to the place that the webhook has reached, again or for the first time, beside the new ones. Events that wait are not repeated. `latest` instead goes on from the present end, drops every event that waits, and says what it skips. One replay runs at a time.",
      body: { description: "The place", schema: "WebhookReplay", example: { cursor: "latest" } },
      success: ok("The new state.", "WebhookState", STATE),
      errors: {
        invalid_request: "cursor is required: latest, or one that this service handed out for events.",
        webhook_disabled: "This webhook is disabled. Enable it first.",
        replay_running: "A replay of this webhook runs. Stop it, or wait for its end.",
        cursor_expired: "The feed does not have the place of this cursor, or no longer.",
      },
    },
    stopReplay: {
      ...OF_A_WEBHOOK,
      summary: "Stop a replay",
      description:
        "Ends the replay that runs, and drops its deliveries that wait. Attempts may still be on their way. Without a replay, it changes nothing.",
      success: { status: 204, description: "No replay runs." },
    },
    listDeliveries: {
      stability: "beta",
      summary: "List the deliveries of a webhook",
      agents: {
        description: "Lists deliveries of a webhook, the newest first, each with its response or why it failed.",
      },
      description:
        "Returns the deliveries that wait, and the last 1,000 that finished, the newest first. If there are more, the `Link` header holds the address of the next page.",
      parameters: {
        ...WEBHOOK_ID,
        limit: limitParameter("deliveries"),
        cursor: {
          description: "Where the page starts. Opaque: take it from the `Link` header of the previous page.",
          schema: { type: "string", maxLength: 35, pattern: DELIVERY_CURSOR.source },
          example: "f0000000000000017d4fa9568",
        },
        status: {
          description: "Only deliveries with this status.",
          schema: ref("DeliveryStatus"),
          example: DELIVERY.status,
        },
      },
      success: ok("Deliveries.", "Deliveries", [DELIVERY]),
    },
  },
};
