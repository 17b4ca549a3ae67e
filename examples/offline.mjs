// Sells animals where there is often no network: a sale is written down at once, and sent when the service can be reached.
// Usage: BASE=http://localhost:8787/v1 KEY=<API key> QUEUE=sales node offline.mjs [<id of an animal> ...]
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { PetStore, PetStoreError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", QUEUE: folder = "sales" } = process.env;
const { orders } = new PetStore({ baseUrl, apiKey, retry: { totalTime: 10_000 } }).session(); // Milliseconds.

// Each sale has a file of its own: while one run waits for the network, another one may write down the next sale.
/** @typedef {{ petId: string, reference: string, firstUsed?: string }} Sale */
/** @param {string} file @param {Sale} sale */
function save(file, sale) {
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(sale));
  renameSync(`${file}.${process.pid}`, file);
}

/** @param {string} file @param {Sale} sale */
async function send(file, sale) {
  const { petId, reference } = sale;
  if (sale.firstUsed === undefined) {
    sale.firstUsed = new Date().toISOString();
    save(file, sale); // Before the request: from now on, the service may know the key.
  }
  const firstUsed = new Date(sale.firstUsed);
  try {
    return (await orders.place({ petId, reference }, { idempotencyKey: reference, firstUsed })).order;
  } catch (error) {
    if (!(error instanceof PetStoreError && error.code === "idempotency_key_expired")) throw error;
    // The service has forgotten the key by now. The order, if there is one, has the reference.
    const [placed] = (await orders.list({ reference }).page()).items;
    return placed ?? (await orders.place({ petId, reference })).order;
  }
}

mkdirSync(folder, { recursive: true });
// The names are in the order of the sales.
for (const [place, petId] of process.argv.slice(2).entries()) {
  const reference = crypto.randomUUID();
  save(join(folder, `${Date.now() * 1_000 + place}-${reference}.json`), { petId, reference });
}
const names = readdirSync(folder).filter((name) => name.endsWith(".json"));
const files = names.toSorted().map((name) => join(folder, name));
for (const [done, file] of files.entries()) {
  if (!existsSync(file)) continue; // Another run has sent it.
  /** @type {Sale} */
  const sale = JSON.parse(readFileSync(file, "utf8"));
  try {
    const { id } = await send(file, sale);
    console.log(`The animal ${sale.petId} is sold. The order has the number ${id}.`);
  } catch (error) {
    if (!(error instanceof PetStoreError)) throw error;
    if (error.code !== "pet_not_available") {
      console.error(`${files.length - done} sales wait: ${error.message}`);
      process.exitCode = 1;
      break;
    }
    console.log(`The animal ${sale.petId} was not available.`);
  }
  rmSync(file, { force: true });
}
