// Keeps a book of every change of an order, by the feed. Run it as often as you like.
// Usage: BASE=http://localhost:8787/v1 KEY=<API key> BOOK=book.jsonl node books.mjs
import { existsSync, fstatSync, openSync, readFileSync, truncateSync, writeFileSync, fsyncSync } from "node:fs";
import { PetStore, PetStoreError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", BOOK: file = "book.jsonl" } = process.env;
const store = new PetStore({ baseUrl, apiKey }).session();
/** @type {import("@petstore/client").EventType[]} */
const types = ["order.placed", "order.shipped", "order.cancelled"];

/**
 * @param {{ id: bigint, petId: bigint, status: string }} order
 * @param {number} version
 * @param {string} time
 */
const entry = ({ id, petId, status }, version, time) => ({
  order: String(id),
  version,
  status,
  animal: String(petId),
  time,
});

/**
 * Adds entries and the cursor after them. Without its cursor, a part that a crash left behind does not count.
 *
 * @param {object[]} entries
 * @param {string} cursor
 */
function write(entries, cursor) {
  if (fstatSync(book).size !== size) throw new Error("Another run writes the book.");
  const lines = [...entries, { cursor }].map((line) => `${JSON.stringify(line)}\n`).join("");
  writeFileSync(book, lines);
  fsyncSync(book);
  size += Buffer.byteLength(lines);
  return cursor;
}

/** Writes every order as it is now. What is above `restarted` no longer counts. */
async function begin() {
  const { cursor } = await store.events.list({ cursor: "latest", types });
  /** @type {object[]} */
  const entries = [{ restarted: true }];
  for await (const order of store.orders.list({ etags: true, limit: 100 }))
    entries.push(entry(order, order.version, order.shipDate ?? order.createdAt));
  return write(entries, cursor);
}

const [kept = "", , last] =
  /^(.*\{"cursor":"([0-9a-f]+)"\}\n)?/s.exec(existsSync(file) ? readFileSync(file, "utf8") : "") ?? [];
const book = openSync(file, "a");
let size = Buffer.byteLength(kept); // As this run knows the book.
truncateSync(file, size);
let cursor = last ?? (await begin());
for (let more = true; more;) {
  try {
    const page = await store.events.list({ cursor, limit: 100, types });
    const entries = page.events.map(({ data, version, timestamp }) =>
      entry(/** @type {import("@petstore/client").Order} */ (data), version, timestamp),
    );
    cursor = write(entries, page.cursor);
    more = page.more;
  } catch (error) {
    if (!(error instanceof PetStoreError && error.code === "cursor_expired")) throw error;
    cursor = await begin();
  }
}
