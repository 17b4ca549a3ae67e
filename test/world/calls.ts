import { ROWS } from "../../register/operations.ts";
import { type Kind, STATUSES } from "../../register/simulated.ts";

/** Programs of several calls. */
const PROGRAMS: { [name: string]: Kind } = {
  "poll a page": {
    weight: 2,
    prepare({ random }) {
      const maxAge = random.pick([1, 5, 20]);
      return async (client) => {
        for (let poll = 0; poll < 4; poll++) await client.pets.list({ sort: "-id", limit: 3 }, { maxAge }).page();
      };
    },
  },
  // So that the store stays small.
  "clear the store": {
    weight: 5,
    prepare({ random }) {
      const query = { status: random.pick(STATUSES), etags: true, limit: 12 } as const;
      return async (client) => {
        const { items } = await client.pets.list(query).page();
        for (const { id, etag } of items) await client.pets.delete(id, { ifMatch: etag }).catch(() => {});
      };
    },
  },
};

/** The calls of programs that use the official client. Their order decides what a seed does. */
export const CALLS: { readonly [name: string]: Kind } = {
  ...PROGRAMS,
  ...Object.fromEntries(
    Object.entries(ROWS).flatMap(([id, { world }]) => (typeof world === "string" ? [] : [[id, world] as const])),
  ),
};
