// Keeps a copy of the store in a SQLite file, and follows every change. Stop or kill it at any moment, and run it again.
// Node.js 24 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> FILE=store.sqlite node copy.mjs
import { DatabaseSync } from "node:sqlite";
import { PetStore } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", FILE: file = "store.sqlite", IDLE: idle } = process.env;
const db = new DatabaseSync(file, { timeout: 10_000 }); // Milliseconds that it waits for another process.
// Readers of the file see the last transaction, and wait for none. A power cut may take back the last transactions as a whole.
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  CREATE TABLE IF NOT EXISTS feed (one INTEGER PRIMARY KEY CHECK (one = 1), cursor TEXT NOT NULL) STRICT;
`);
const animals = table(
  "animals",
  "name TEXT NOT NULL, category_id INTEGER NOT NULL, status TEXT NOT NULL, external_id TEXT",
);
const categories = table("categories", "name TEXT NOT NULL, description TEXT");
const orders = table(
  "orders",
  "pet_id INTEGER NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL, ship_date TEXT, reference TEXT",
);
const keepCursor = db.prepare("INSERT OR REPLACE INTO feed VALUES (1, ?)");

/**
 * @param {string} name
 * @param {string} columns
 */
function table(name, columns) {
  const names = columns.split(", ").map((column) => column.replace(/ .*/, ""));
  const known = Array.from(db.prepare("SELECT name FROM pragma_table_info(?)").all(name), (column) => column["name"]);
  // An earlier version of this program made the file: the next copy begins anew.
  if (known.length > 0 && names.some((column) => !known.includes(column)))
    db.exec(`DELETE FROM feed; DROP TABLE ${name}`);
  db.exec(`CREATE TABLE IF NOT EXISTS ${name} (id INTEGER PRIMARY KEY, version INTEGER NOT NULL, ${columns}) STRICT`);
  const find = db.prepare(`SELECT version FROM ${name} WHERE id = ?`);
  const fields = names.map((column) => column.replace(/_(.)/g, (_, letter) => letter.toUpperCase()));
  const insert = db.prepare(`INSERT OR REPLACE INTO ${name} VALUES (:id, :version, :${fields.join(", :")})`);
  insert.setAllowUnknownNamedParameters(true); // Later versions of the service may add fields.
  const absent = Object.fromEntries(fields.map((field) => [field, null]));
  const remove = db.prepare(`DELETE FROM ${name} WHERE id = ?`);
  /** @typedef {{ id: bigint, version: number }} Row */
  // A new copy may already have a change that the feed still brings.
  const isNew = (/** @type {Row} */ { id, version }) => version > Number(find.get(id)?.["version"] ?? 0);
  return {
    put: (/** @type {Row} */ row) => isNew(row) && insert.run({ ...absent, ...row }),
    remove: (/** @type {Row} */ row) => isNew(row) && remove.run(row.id),
  };
}

const store = new PetStore({ baseUrl, apiKey }).session();

/** Starts an empty copy with everything there is. Readers see it when the cursor is kept: the same transaction swaps the copies. */
async function startAgain() {
  if (db.isTransaction) db.exec("ROLLBACK"); // The last attempt failed in the middle.
  db.exec("BEGIN; DELETE FROM animals; DELETE FROM categories; DELETE FROM orders");
  for await (const animal of store.pets.list({ limit: 100, etags: true })) animals.put(animal);
  for await (const category of store.categories.list({ limit: 100, etags: true })) categories.put(category);
  for await (const order of store.orders.list({ limit: 100, etags: true })) orders.put(order);
}

/** @param {import("@petstore/client").PetStoreEvent} event */
function apply({ version, ...event }) {
  switch (event.type) {
    case "pet.created":
    case "pet.updated":
      return animals.put({ ...event.data, version });
    case "pet.deleted":
      return animals.remove({ ...event.data, version });
    case "category.created":
    case "category.updated":
      return categories.put({ ...event.data, version });
    case "category.deleted":
      return categories.remove({ ...event.data, version });
    case "order.placed":
    case "order.shipped":
    case "order.cancelled":
    case "order.updated":
      return orders.put({ ...event.data, version });
    default:
      return undefined; // Later versions of the service may have other types.
  }
}

const kept = db.prepare("SELECT cursor FROM feed").get();
const pages = store.events.follow({
  cursor: kept ? String(kept["cursor"]) : "latest",
  onReset: startAgain, // At first, and when the feed no longer has the place of this copy.
  ...(idle && { idle: () => Number(idle) }), // Milliseconds between two requests at the end of the feed.
});
for await (const { events, cursor } of pages) {
  // The changes and the cursor are one transaction: after a crash, the copy goes on from where it is.
  if (!db.isTransaction) db.exec("BEGIN");
  for (const event of events) apply(event);
  keepCursor.run(cursor);
  db.exec("COMMIT");
}
