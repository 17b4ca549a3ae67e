// The description of the operations on the presented key.
import type { SchemaObject } from "openapi3-ts/oas31";
import { CUSTOMER_SCOPES, SCOPES } from "../../src/auth/scopes.ts";
import { MAX_TOKEN_LENGTH } from "../../src/auth/token.ts";
import { type Key } from "../../src/key/get-key.ts";
import {
  DEFAULT_EXPIRES_IN,
  DEFAULT_MAX_PLACED,
  MAX_EXPIRES_IN,
  MAX_MAX_PLACED,
  MIN_EXPIRES_IN,
  newToken,
  type Token,
} from "../../src/key/create-token.ts";
import { CUSTOMER_TEXT, fieldsOf, int32, object, objectSchema, ref, type Resource, ok, time } from "../describe.ts";

/** Any text of an operator. A record of a key has at most so many bytes. */
const TEXT = { type: "string", maxLength: 1_024, pattern: "^[\\s\\S]*$" } as const;

const KEY = {
  id: "0b1f4c6a2e9d8035",
  name: "shop in Lisbon",
  scopes: ["pets:read", "store:read", "store:write"],
  expiresAt: "2027-06-30T00:00:00.000Z",
} satisfies Key;

const CUSTOMER_ID = "c_8f2Kq0";
const CUSTOMER: SchemaObject = {
  type: "string",
  ...CUSTOMER_TEXT,
  description: "The shop's own name for the customer: an opaque id, and no mail address.",
  examples: [CUSTOMER_ID],
};
const SCOPES_OF_TOKENS: SchemaObject = {
  type: "array",
  items: { type: "string", enum: [...CUSTOMER_SCOPES] },
  minItems: 1,
  maxItems: CUSTOMER_SCOPES.length,
  examples: [CUSTOMER_SCOPES],
};
const TOKEN = {
  token:
    "petstore_local_t_WyI5ZjJhYyIsIjNjMWUiLDE3OTU2ODQyMDAsWyJwZXRzOnJlYWQiXSwiY184ZjJLcTAiLDEwXQ.UqR0xw3nV5l5wq8Xr0u3bq3p2d8t0nq1eJx7m3kYv1c",
  id: "3c1e6f0a-52d7-4b9e-8a64-0f7b1c2d9e58",
  customer: CUSTOMER_ID,
  scopes: CUSTOMER_SCOPES,
  expiresAt: "2026-11-22T10:30:00.000Z",
} satisfies Token;

export const key: Resource = {
  tag: { name: "Key", description: "The API key of a request. [API keys](/docs/keys) explains scopes and expiry." },
  schemas: {
    Key: object(
      "An API key, without its secret. Other fields may come: ignore those that you do not know.",
      KEY,
      {
        id: { ...TEXT, description: "Names the key for its operator.", examples: [KEY.id] },
        name: {
          ...TEXT,
          description: "The name that the operator gave it, or `customer token`.",
          examples: [KEY.name],
        },
        scopes: {
          type: "array",
          description: "What the key may do. The list may grow: ignore scopes that you do not know.",
          items: { anyOf: [ref("Scope"), TEXT] },
          maxItems: 100,
          examples: [KEY.scopes],
        },
        expiresAt: {
          type: "string",
          format: "date-time",
          description: "When the key ends, in UTC. Absent for a key that does not expire.",
          maxLength: KEY.expiresAt.length,
          examples: [KEY.expiresAt],
        },
        customer: { ...CUSTOMER, description: "Of a customer token: its customer. Absent for a key." },
      },
      ["id", "name", "scopes"],
    ),
    NewToken: fieldsOf(
      "A customer token to create. Other fields are ignored.",
      objectSchema(newToken(), {
        customer: CUSTOMER,
        scopes: {
          ...SCOPES_OF_TOKENS,
          uniqueItems: true,
          description: "What the token may do. Defaults to those of these scopes that the key has.",
        },
        expiresIn: {
          ...int32(MIN_EXPIRES_IN, MAX_EXPIRES_IN),
          description: `Seconds until the token ends, which it does with its key at the latest. Defaults to ${DEFAULT_EXPIRES_IN}.`,
          examples: [DEFAULT_EXPIRES_IN],
        },
        maxPlaced: {
          ...int32(1, MAX_MAX_PLACED),
          description: `The number of placed orders that the customer may have, whoever placed them. Defaults to ${DEFAULT_MAX_PLACED}.`,
          examples: [DEFAULT_MAX_PLACED],
        },
      }),
      { customer: TOKEN.customer },
    ),
    Token: object("A customer token. Other fields may come: ignore those that you do not know.", TOKEN, {
      token: {
        type: "string",
        description: "The bearer token for the customer. Opaque, and a secret.",
        maxLength: MAX_TOKEN_LENGTH,
        pattern: "^[!-~]+$",
        examples: [TOKEN.token],
      },
      id: { ...TEXT, description: "Names the token in the log of the service. Not a secret.", examples: [TOKEN.id] },
      customer: CUSTOMER,
      scopes: { ...SCOPES_OF_TOKENS, description: "What the token may do, as long as its key may." },
      expiresAt: time("When the token ends, in UTC.", TOKEN.expiresAt),
    }),
    Scope: { type: "string", description: "The scopes of this version.", enum: [...SCOPES], examples: [KEY.scopes[0]] },
  },
  operations: {
    getKey: {
      stability: "beta",
      summary: "Describe the key",
      agents: { description: "Returns the name, the scopes and the expiry of the key that you use: what you may do." },
      description:
        "Returns the id, the name, the scopes and the expiry of the key that the request presents, so that a program can check at its start what it may do. It never returns the key itself. Every valid key may ask, whatever its scopes, and the request counts against its rate limit. A rotation or a revocation shows within 120 seconds, and later only when KV is late.",
      success: ok("The key.", "Key", KEY),
    },
    createToken: {
      stability: "beta",
      summary: "Create a customer token",
      agents: "hidden",
      description:
        "Returns a token that a browser or a phone may hold: with it, a customer reads animals, orders, and reaches their own orders alone. The server of the shop creates it for a customer who is logged in. It ends at its expiry, or when its key is revoked. The service stores nothing, so an `Idempotency-Key` has no effect, and a retry returns another token. [Browsers and phones](/docs/browsers) explains it.",
      body: { description: "The customer", schema: "NewToken", example: { customer: TOKEN.customer } },
      success: ok("The token.", "Token", TOKEN),
      errors: { invalid_request: "customer is required: a string of 1 to 255 visible ASCII characters." },
    },
  },
};
