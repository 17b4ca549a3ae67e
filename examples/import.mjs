// Imports the animals of a CSV file, and prints each with its new id. After a crash, run it again: it creates none twice.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FILE=animals.csv node import.mjs
import { createReadStream, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { PetStore } from "@petstore/client";
import { parse } from "csv-parse";

const { BASE: baseUrl = "", KEY: apiKey = "", FILE: file = "animals.csv" } = process.env;
const keyFile = `${file}.key`;
if (!existsSync(keyFile)) {
  writeFileSync(`${keyFile}.new`, crypto.randomUUID());
  renameSync(`${keyFile}.new`, keyFile);
}
const idempotencyKey = readFileSync(keyFile, "utf8");

const { pets } = new PetStore({ baseUrl, apiKey });
await pipeline(createReadStream(file), parse({ columns: true, bom: true }), (animals) =>
  pets.createMany(animals, {
    idempotencyKey,
    onProgress({ created, animals }) {
      for (const { id, name, categoryId } of animals) console.log(`${id} ${name} ${categoryId}`);
      console.error(`${created} animals are imported.`);
    },
  }),
);
