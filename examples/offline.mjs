// Sells animals where there is often no network: a sale is written down at once, and sent when the service can be reached.
// Usage: BASE=http://localhost:8787/v1 KEY=<API key> QUEUE=sales.json node offline.mjs [<id of an animal> ...]
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { PetStore, PetStoreError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", QUEUE: file = "sales.json" } = process.env;
const { orders } = new PetStore({ baseUrl, apiKey, retry: { totalTime: 10_000 } }).session(); // Milliseconds.

/** @typedef {{ petId: string, reference: string, firstUsed?: string }} Sale */
/** @type {Sale[]} */
const sales = existsSync(file) ? JSON.parse(readFileSync(file, "utf8")) : [];
function save() {
  writeFileSync(`${file}.new`, JSON.stringify(sales));
  renameSync(`${file}.new`, file);
}

/** @param {Sale} sale */
async function send(sale) {
  const { petId, reference } = sale;
  if (sale.firstUsed === undefined) {
    sale.firstUsed = new Date().toISOString();
    save(); // Before the request: from now on, the service may know the key.
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

for (const petId of process.argv.slice(2)) sales.push({ petId, reference: crypto.randomUUID() });
save();
for (let [sale] = sales; sale !== undefined; [sale] = sales) {
  try {
    const { id } = await send(sale);
    console.log(`The animal ${sale.petId} is sold. The order has the number ${id}.`);
  } catch (error) {
    if (!(error instanceof PetStoreError)) throw error;
    if (error.code !== "pet_not_available") {
      console.error(`${sales.length} sales wait: ${error.message}`);
      process.exitCode = 1;
      break;
    }
    console.log(`The animal ${sale.petId} was not available.`);
  }
  sales.shift();
  save();
}
