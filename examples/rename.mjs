// Renames animals, and never undoes a change of somebody else. After a crash, run it again.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FROM=Rex TO=Max node rename.mjs
import { PetStore, PetStoreError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", FROM: from = "", TO: to = "" } = process.env;
const { pets } = new PetStore({ baseUrl, apiKey }).session();

/**
 * At first all animals, then those of batches with one that somebody else changed after it was listed.
 *
 * @type {bigint[] | undefined}
 */
let ids;
do {
  /** @type {bigint[]} */
  const conflicts = [];
  let page;
  for (page = await pets.list({ id: ids, limit: 100, etags: true }).page(); page; page = await page.next()) {
    const changes = page.items
      .filter(({ name }) => name.startsWith(from))
      .map(({ id, version, name }) => ({ id, version, name: to + name.slice(from.length) }));
    try {
      await pets.updateMany(changes);
    } catch (error) {
      const code = error instanceof PetStoreError && error.code;
      if (code !== "precondition_failed" && code !== "not_found") throw error;
      // The service has changed none of them.
      conflicts.push(...changes.map(({ id }) => id));
    }
  }
  console.error(`${conflicts.length} animals are listed again, because somebody else changed some of them.`);
  ids = conflicts;
} while (ids.length > 0);
