// Imports the animals of a CSV file, and prints each with its new id. After a crash, run it again: it creates none twice.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FILE=animals.csv node import.mjs
import { createReadStream, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { pipeline } from "node:stream/promises";
import { PetStore, PetStoreError } from "@petstore/client";
import { parse } from "csv-parse";

const { BASE: baseUrl = "", KEY: apiKey = "", FILE: file = "animals.csv" } = process.env;
const keyFile = `${file}.key`;
/** @param {{ idempotencyKey: string, firstUsed: string, isDone: boolean }} state */
const store = (state) => {
  writeFileSync(`${keyFile}.new`, JSON.stringify(state));
  renameSync(`${keyFile}.new`, keyFile);
};
if (!existsSync(keyFile)) {
  store({ idempotencyKey: crypto.randomUUID(), firstUsed: new Date().toISOString(), isDone: false });
}
const { idempotencyKey, firstUsed, isDone } = JSON.parse(readFileSync(keyFile, "utf8"));

if (isDone) {
  console.error(`${file} is imported. Remove ${keyFile} to import it once more.`);
} else {
  const { pets } = new PetStore({ baseUrl, apiKey });
  try {
    await pipeline(createReadStream(file), parse({ columns: true, bom: true }), (animals) =>
      pets.createMany(animals, {
        idempotencyKey,
        firstUsed: new Date(firstUsed),
        onProgress({ created, animals }) {
          for (const { id, name, categoryId } of animals) console.log(`${id} ${name} ${categoryId}`);
          console.error(`${created} animals are imported.`);
        },
      }),
    );
    store({ idempotencyKey, firstUsed, isDone: true });
  } catch (error) {
    if (!(error instanceof PetStoreError && error.code === "idempotency_key_expired")) throw error;
    console.error(`This import began ${firstUsed}, and the service forgets what it created after 24 hours.
Compare ${file} with a list of the animals, keep the rows that are missing, remove ${keyFile}, and start again.`);
    process.exitCode = 1;
  }
}
