import { NOTHING, post } from "./cost.ts";
import type { Rows } from "./row.ts";

export const key = {
  getKey: {
    scope: undefined,
    tool: ["read", {}],
    sample: async (store) => {
      const { name, scopes } = await store.key();
      console.log(name, scopes);
    },
    costs: { "the presented key": [NOTHING, 200, "/v1/key"] },
    // No request can change it.
    world: { weight: 1, prepare: () => (client) => client.key(), answer: "judged elsewhere" },
  },
  createToken: {
    scope: "tokens:create",
    tool: "hidden",
    sample: async (store) => {
      const { token, expiresAt } = await store.token({ customer: "c_8f2Kq0" });
      console.log(token.length, expiresAt);
    },
    costs: { "a customer token": [NOTHING, 200, "/v1/key/tokens", post({ customer: "ada" })] },
    invalid: {},
    world: { weight: 1, prepare: () => (client) => client.token({ customer: "ada" }), answer: "judged elsewhere" },
  },
} satisfies Rows;
