// Claims the available animals, beside other processes that do the same: no animal goes to two of them.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> node claim.mjs
import { PetStore, PetStoreError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "" } = process.env;
const { orders, pets } = new PetStore({ baseUrl, apiKey }).session();
/** After as many refusals, the list is old: the other processes are at the same animals. */
const MOST_REFUSALS = 2;
/** A sold animal that somebody made available again stays in the list, and nobody can order it. */
const refused = new Set();

for (;;) {
  const { items } = await pets.list({ status: "available", limit: 100 }).page();
  const left = items.filter(({ id }) => !refused.has(id));
  if (left.length === 0) break;
  let refusals = 0;
  // In the order of ids, every process would ask for the same animal.
  for (const { id, name } of shuffle(left)) {
    try {
      const { order } = await orders.place({ petId: id });
      console.log(`${order.id} ${id} ${name}`);
    } catch (error) {
      if (!(error instanceof PetStoreError && error.code === "pet_not_available")) throw error;
      refused.add(id);
      refusals++;
    }
    if (refusals === MOST_REFUSALS) break;
  }
}

/**
 * @template Item
 * @param {Item[]} items
 */
function shuffle(items) {
  const ranked = items.map((item) => ({ item, rank: Math.random() }));
  return ranked.toSorted((a, b) => a.rank - b.rank).map(({ item }) => item);
}
