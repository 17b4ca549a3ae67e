import { NOTHING } from "./cost.ts";
import type { Rows } from "./row.ts";

export const key = {
  getKey: {
    scope: undefined,
    sample: async (store) => {
      const { name, scopes } = await store.key();
      console.log(name, scopes);
    },
    costs: { "the presented key": [NOTHING, 200, "/v1/key"] },
    // No request can change it.
    world: { weight: 1, prepare: () => (client) => client.key(), answer: "judged elsewhere" },
  },
} satisfies Rows;
