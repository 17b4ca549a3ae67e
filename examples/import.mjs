// Imports 150 animals, and lists them from their first page to the last. After a crash, run it again: it creates none twice.
// Node.js 20 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FILE=<keeps the state> node import.mjs
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { PetStore } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", FILE: file = "import.json" } = process.env;
const state = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : { run: crypto.randomUUID() };
const save = () => {
  writeFileSync(`${file}.new`, JSON.stringify(state));
  renameSync(`${file}.new`, file);
};
save();

const session = new PetStore({ baseUrl, apiKey }).session(state.bookmark);
for (let line = 1; line <= 150; line++) {
  const animal = { name: `Animal ${line}`, categoryId: 2n ** 62n + BigInt(line) };
  await session.pets.create(animal, { idempotencyKey: `${state.run}-${line}` });
  state.bookmark = session.bookmark;
  save();
}

for await (const { id, name, categoryId } of session.pets.list({ limit: 100 })) {
  console.log(`${id} ${name} ${categoryId}`);
}
