// Makes the animals what a CSV file of another system says, and prints what changes. Run it every night, and again after a crash.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FILE=animals.csv node import.mjs
import { createReadStream } from "node:fs";
import { PetStore } from "@petstore/client";
import { parse } from "csv-parse";

const { BASE: baseUrl = "", KEY: apiKey = "", FILE: file = "animals.csv" } = process.env;
const { pets } = new PetStore({ baseUrl, apiKey });
/** @type {Set<string>} */
const ignored = new Set();

await pets.upsertMany(createReadStream(file).pipe(parse({ columns: true, bom: true })), {
  onProgress({ done, animals, warnings }) {
    for (const { id, externalId, name, result } of animals)
      if (result !== "unchanged") console.log(`${result} ${externalId}: ${id} ${name}`);
    for (const column of warnings) ignored.add(column);
    console.error(`${done} animals are as the file has them.`);
  },
});
if (ignored.size > 0) console.error(`Nobody reads these columns: ${[...ignored].join(", ")}`);
