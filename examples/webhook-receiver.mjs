// Keeps a table of the animals in a SQLite file from what a webhook delivers. Stop or kill it at any moment, and run it again.
// Node.js 24 or later. Usage: BASE=http://localhost:8787/v1 KEY=<API key> PORT=8788 FILE=animals.sqlite node webhook-receiver.mjs
// In production, HOOK is its public address: HOOK=https://hooks.shop.com/pets
import { createServer } from "node:http";
import { DatabaseSync } from "node:sqlite";
import { PetStore, verifyWebhook, WebhookVerificationError } from "@petstore/client";

const { BASE: baseUrl = "", KEY: apiKey = "", FILE: file = "animals.sqlite", PORT: port = "8788" } = process.env;
const { HOOK: url = `http://127.0.0.1:${port}/` } = process.env;
const MAX_BODY_BYTES = 100_000; // Before the signature is verified, anybody may be the sender.

const store = new PetStore({ baseUrl, apiKey });
const db = new DatabaseSync(file, { timeout: 10_000 }); // Milliseconds that it waits for another process.
// A deleted animal keeps its row, without a name: an older event may follow. `bookmark` is set while the table has to be filled.
db.exec(`
  PRAGMA journal_mode = WAL;
  CREATE TABLE IF NOT EXISTS animals (
    id INTEGER PRIMARY KEY, version INTEGER NOT NULL, name TEXT, category_id INTEGER, status TEXT
  ) STRICT;
  CREATE TABLE IF NOT EXISTS receiver (
    one INTEGER PRIMARY KEY CHECK (one = 1), key TEXT NOT NULL, webhook INTEGER, bookmark TEXT, reset TEXT
  ) STRICT;
`);
// One statement compares the version and writes, so that duplicates and older events change nothing.
const put = db.prepare(`
  INSERT INTO animals VALUES (:id, :version, :name, :categoryId, :status)
  ON CONFLICT (id) DO UPDATE SET version = excluded.version, name = excluded.name, category_id = excluded.category_id,
    status = excluded.status WHERE excluded.version > version`);
const GONE = { name: null, categoryId: null, status: null };
put.setAllowUnknownNamedParameters(true); // Later versions of the service may add fields.
const find = db.prepare("SELECT webhook, bookmark, reset, key FROM receiver");
find.setReadBigInts(true);
const receiver = () => find.get() ?? {};

/** @param {() => void} write */
function transaction(write) {
  db.exec("BEGIN IMMEDIATE");
  try {
    write();
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}

/**
 * @param {import("@petstore/client").WebhookEvent} event
 * @returns {string} what became of it.
 */
function apply({ id, type, version, data }) {
  switch (type) {
    case "pet.created":
    case "pet.updated":
      return put.run({ ...data, version }).changes === 1 ? "is stored" : "is old";
    case "pet.deleted":
      return put.run({ ...GONE, id: data.id, version }).changes === 1 ? "is stored" : "is old";
    case "feed.reset":
      if (receiver()["reset"] === id) return "is a duplicate";
      transaction(() => {
        db.exec("DELETE FROM animals"); // The deleted ones too: the versions of another history may be lower.
        db.prepare("UPDATE receiver SET bookmark = ?, reset = ?").run(data.bookmark, id);
      });
      // Not before the response: a list may take longer than the 15 seconds that a delivery has.
      void fill();
      return "begins the table anew";
    default:
      return "is ignored"; // A test, or a type of a later version of the service.
  }
}

/** Lists everything into the table, if it has to be filled. After a kill it begins again, and deliveries may come meanwhile. */
async function fill() {
  const { bookmark, reset } = receiver();
  if (bookmark === null) return;
  let count = 0;
  let page = await store.session(String(bookmark)).pets.list({ limit: 100, etags: true }).page();
  for (let next; ; page = next) {
    // A feed.reset came meanwhile, and fills the table itself. This page may be of the history that is gone.
    if (receiver()["reset"] !== reset) return;
    const { items } = page;
    transaction(() => items.forEach((animal) => put.run({ ...animal })));
    count += items.length;
    next = await page.next();
    if (next === undefined) break;
  }
  const { changes } = db.prepare("UPDATE receiver SET bookmark = NULL WHERE reset IS ?").run(reset ?? null);
  if (changes === 1) console.log(`The table is complete: ${count} animals were listed.`);
}

/** @param {import("node:http").IncomingMessage} request */
async function read(request) {
  const parts = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

// The key of the creation is kept first, so that a kill leaves no second webhook behind.
db.prepare("INSERT OR IGNORE INTO receiver (one, key) VALUES (1, ?)").run(crypto.randomUUID());
if (receiver()["webhook"] === null) {
  const session = store.session();
  const { webhook } = await session.webhooks.create(
    { url, types: ["pet.created", "pet.updated", "pet.deleted"] },
    { idempotencyKey: String(receiver()["key"]) },
  );
  db.prepare("UPDATE receiver SET webhook = ?, bookmark = ?").run(webhook.id, session.bookmark ?? "");
}
const webhook = String(receiver()["webhook"]);
// After a rotation, start the program again within 24 hours.
const secret = await store.webhooks.secret(webhook);

createServer(async (request, response) => {
  try {
    const body = await read(request);
    if (body === undefined) return response.writeHead(413, { Connection: "close" }).end();
    const event = await verifyWebhook(body, request.headers, secret);
    const outcome = apply(event);
    console.log(`${event.type} ${event.id} ${outcome}.`);
    return response.writeHead(204).end(); // What it says is stored.
  } catch (error) {
    console.error(error instanceof WebhookVerificationError ? `Refused: ${error.code}` : error);
    return response.writeHead(error instanceof WebhookVerificationError ? 400 : 500).end();
  }
}).listen(Number(port), () => console.log(`Webhook ${webhook} delivers to ${url}`));
await fill();
