// The description of the operation on the presented key.
import { SCOPES } from "../../src/auth/scopes.ts";
import { type Key } from "../../src/key/get-key.ts";
import { ref, type Resource, ok } from "../describe.ts";

/** Any text of an operator. A record of a key has at most so many bytes. */
const TEXT = { type: "string", maxLength: 1_024, pattern: "^[\\s\\S]*$" } as const;

const KEY = {
  id: "0b1f4c6a2e9d8035",
  name: "shop in Lisbon",
  scopes: ["pets:read", "store:read", "store:write"],
  expiresAt: "2027-06-30T00:00:00.000Z",
} satisfies Key;

export const key: Resource = {
  tag: { name: "Key", description: "The API key of a request. [API keys](/docs/keys) explains scopes and expiry." },
  schemas: {
    Key: {
      type: "object",
      description: "An API key, without its secret. Other fields may come: ignore those that you do not know.",
      properties: {
        id: { ...TEXT, description: "Names the key for its operator.", examples: [KEY.id] },
        name: {
          ...TEXT,
          description: "The name that the operator gave it.",
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
      },
      required: ["id", "name", "scopes"],
      examples: [KEY],
    },
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
  },
};
