// Renames animals, and never undoes a change of somebody else. After a crash, run it again.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FROM=Rex TO=Max node rename.mjs
import { PetStore, PetStoreError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", FROM: from = "", TO: to = "" } = process.env;
const { pets } = new PetStore({ baseUrl, apiKey }).session();

/**
 * At first all animals, then those that somebody else changed after they were listed.
 *
 * @type {bigint[] | undefined}
 */
let ids;
do {
  /** @type {bigint[]} */
  const conflicts = [];
  for await (const { id, name, etag } of pets.list({ id: ids, limit: 100, etags: true })) {
    if (!name.startsWith(from)) continue;
    try {
      await pets.update(id, { name: to + name.slice(from.length) }, { ifMatch: etag });
    } catch (error) {
      const code = error instanceof PetStoreError && error.code;
      if (code === "precondition_failed") conflicts.push(id);
      else if (code !== "not_found") throw error;
    }
  }
  console.error(`${conflicts.length} animals were changed meanwhile.`);
  ids = conflicts;
} while (ids.length > 0);
