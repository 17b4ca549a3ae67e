import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { gunzipSync } from "node:zlib";

// Data for tests of backups, and two ways to read it that share nothing with ops/backup: from SQLite, and from the files.

/** The values of a row, each as its type and its bytes in hexadecimal. */
type Rows = string[][];
export type Contents = { [table: string]: Rows };

export const TABLES = ["categories", "events", "idempotency_keys", "orders", "pets", "webhooks"];
const COUNTED = ["categories", "orders", "pets", "webhooks"];

/** All rows of the tables with data, but for the columns that follow from others. */
export function contentsOf(sqlite: DatabaseSync): Contents {
  return Object.fromEntries(
    TABLES.map((table) => {
      const columns = sqlite
        .prepare("SELECT name FROM pragma_table_info(?) WHERE name NOT IN ('folded', 'folded_of')")
        .all(table);
      const values = columns
        .map((column) => String(column["name"]))
        .map((name) => `typeof("${name}") || ':' || hex("${name}")`);
      const select = sqlite.prepare(`SELECT ${values.join()} FROM "${table}" ORDER BY id`);
      select.setReturnArrays(true);
      return [table, select.all() as unknown as Rows];
    }),
  );
}

/** The counters of ids. A table whose ids nobody has used has none. */
export function countersOf(sqlite: DatabaseSync): { [table: string]: bigint } {
  const select = sqlite.prepare("SELECT name, seq FROM sqlite_sequence");
  select.setReadBigInts(true);
  const found = new Map(select.all().map(({ name, seq }) => [String(name), BigInt(String(seq))]));
  return Object.fromEntries(COUNTED.map((table) => [table, found.get(table) ?? 0n]));
}

/** Everything that a refusal leaves as it is: all but the lease, which the command takes and gives back. */
export function everythingIn(sqlite: DatabaseSync): unknown {
  const tables = sqlite
    .prepare("SELECT name, sql FROM sqlite_schema WHERE name <> 'release_lease' ORDER BY name")
    .all() as { name: string; sql: string | null }[];
  return tables.map(({ name, sql }) => {
    if (!sql?.startsWith("CREATE TABLE")) return [name, sql];
    const select = sqlite.prepare(`SELECT * FROM "${name}"`);
    select.setReadBigInts(true);
    return [name, sql, select.all().map((row) => Object.values(row).map(String))];
  });
}

export function contentsOfBackup(folder: string): Contents {
  return Object.fromEntries(
    TABLES.map((table) => {
      const files = readdirSync(folder).filter((file) => file.startsWith(`${table}-`));
      const text = files
        .toSorted()
        .map((file) => gunzipSync(readFileSync(join(folder, file))).toString())
        .join("");
      return [table, text.split("\n").slice(0, -1).map(valuesOf)];
    }),
  );
}

function valuesOf(line: string): string[] {
  const values = JSON.parse(line, (_, value: unknown, { source } = {} as { source?: string }) =>
    typeof value === "number" ? BigInt(source ?? "") : value,
  ) as { [column: string]: bigint | string | null };
  return Object.values(values).map((value) => {
    if (value === null) return "null:";
    const type = typeof value === "bigint" ? "integer" : "text";
    return `${type}:${Buffer.from(String(value)).toString("hex").toUpperCase()}`;
  });
}

/** What a restore brings back: every webhook is disabled. */
export function disabled(contents: Contents): Contents {
  const text = (value: number) => `integer:${Buffer.from(String(value)).toString("hex")}`;
  const webhooks = contents["webhooks"]?.map((row) => {
    const [enabled = 0, version = 0] = [4, 9].map((column) => Number(Buffer.from(row[column]?.slice(8) ?? "", "hex")));
    return row.with(4, text(0)).with(9, text(version + enabled));
  });
  return { ...contents, webhooks: webhooks ?? [] };
}

const MIN = -(2n ** 63n);
const MAX = 2n ** 63n - 1n;
const PLANES = Array.from({ length: 17 }, (_, plane) =>
  String.fromCodePoint(...[0x21, 0x1234, 0xd7ff, 0xe000, 0xfffd, 0xffff].map((code) => plane * 0x10000 + code)),
);
const NAMES = [
  "\0",
  "a\0b\0",
  `'";--\\"'`,
  "\u2028\u2029\u0085",
  "\r\n\n\r\t",
  "\ufeff \u{1f415}",
  ...PLANES,
  "\u{10ffff}".repeat(255),
  "x".repeat(1_020),
];

const NOW = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')";
const DATA = {
  pets: "json_object('id', id, 'name', name, 'categoryId', category_id, 'status', status)",
  categories: "json_object('id', id, 'name', name, 'description', description)",
  orders: "json_object('id', id, 'petId', pet_id, 'status', status, 'reference', reference)",
};

/** Writes what the service writes beside a change. */
function record(sqlite: DatabaseSync, table: keyof typeof DATA, type: string, where: string, data = DATA[table]): void {
  sqlite.exec(`INSERT INTO events (tag, type, version, data, created_at)
    SELECT random() & 4294967295, '${type}', version, ${data}, ${NOW} FROM ${table} WHERE ${where} ORDER BY id`);
}

export function addKey(sqlite: DatabaseSync, id: number | bigint | null, response: string | null, version = 1): void {
  sqlite
    .prepare(`INSERT INTO idempotency_keys (id, api_key_id, idempotency_key, fingerprint, resource_id, created_at, response, version)
      VALUES (?, 'key', hex(randomblob(16)), ?, ?, unixepoch(), ?, ?)`)
    .run(id, "f".repeat(64), MAX, response, response === null ? null : version);
}

/** A webhook, which leaves no event. */
function addWebhook(sqlite: DatabaseSync, url: string, enabled = 1): void {
  sqlite.exec(`INSERT INTO webhooks (tag, url, types, enabled, disabled_reason, created_by, created_at, place)
    SELECT random() & 4294967295, '${url}', '["pet.created"]', ${enabled}, iif(${enabled}, NULL, 'gone'), 'key_1', ${NOW}, '1.1'`);
}

/** Rows with everything that a column may hold. */
export function fill(sqlite: DatabaseSync, { pets = 30, responses = 1 } = {}): void {
  sqlite.exec("BEGIN");
  const pet = sqlite.prepare("INSERT INTO pets (id, name, category_id, status, version) VALUES (?, ?, ?, ?, ?)");
  for (let id = 1; id <= pets; id++) pet.run(id, `Rex ${id}`, id % 7, "available", 1);
  for (const name of NAMES) pet.run(null, name, MIN, "sold", 2n ** 62n + 1n);
  pet.run(2n ** 53n + 1n, "Odd", MAX, "pending", 2n ** 53n + 1n);
  pet.run(2n ** 61n + 1n, "Late", -1, "pending", 1);
  record(sqlite, "pets", "pet.created", "id % 100 = 0 OR id > 5000");
  const category = sqlite.prepare("INSERT INTO categories (name, description) VALUES (?, ?)");
  for (const [index, name] of NAMES.entries())
    category.run(name, [null, "", name, "\u{10ffff}".repeat(2_000)][index % 4] ?? null);
  record(sqlite, "categories", "category.created", "true");
  sqlite.exec(`INSERT INTO orders (pet_id, status, created_at, ship_date, reference)
    SELECT id, 'placed', ${NOW}, NULL, NULL FROM pets WHERE id % 3 = 0 UNION ALL
    SELECT id, 'shipped', ${NOW}, ${NOW}, name FROM pets WHERE id % 3 = 1 UNION ALL
    SELECT id, 'cancelled', ${NOW}, NULL, name FROM pets WHERE id % 3 = 2`);
  record(sqlite, "orders", "order.placed", "id % 50 = 0");
  for (let count = 0; count < responses; count++) addKey(sqlite, null, `[${`"${count}'\\u0000"`.padEnd(120_000)}]`);
  addKey(sqlite, null, null);
  for (const enabled of [1, 0, 1]) addWebhook(sqlite, `https://shop.example/${"x".repeat(99)}`, enabled);
  addKey(sqlite, 2n ** 60n + 1n, `"${NAMES.join("")}"`);
  count(sqlite);
  // The counters stay.
  sqlite.exec("DELETE FROM categories WHERE id = (SELECT max(id) FROM categories)");
  sqlite.exec("DELETE FROM orders WHERE id > (SELECT max(id) - 10 FROM orders)");
  sqlite.exec("COMMIT");
}

/** A sequence that is the same for the same seed: numbers from 0 to below the limit. */
export function randomNumbers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** The changes that the service and its job make, each in one transaction. */
export const CHANGES: { [name: string]: (sqlite: DatabaseSync, random: (limit: number) => number) => void } = {
  "creations of pets": (sqlite, random) => {
    const count = 1 + random(5);
    for (let index = 0; index < count; index++)
      sqlite
        .prepare("INSERT INTO pets (name, category_id, status) VALUES (?, ?, 'available')")
        .run(`New ${random(99)}`, MAX);
    record(sqlite, "pets", "pet.created", `id > (SELECT max(id) - ${count} FROM pets)`);
    if (random(2) === 0) addKey(sqlite, null, "[]");
  },
  "changes of pets": (sqlite, random) => {
    const id = some(sqlite, "pets", random);
    sqlite.exec(
      `UPDATE pets SET name = name || '${random(9)}', version = version + 1 WHERE ${id} AND length(name) < 99`,
    );
    record(sqlite, "pets", "pet.updated", id);
  },
  "deletions of pets": (sqlite, random) => remove(sqlite, "pets", "pet", some(sqlite, "pets", random)),
  "creations of categories": (sqlite, random) => {
    sqlite
      .prepare("INSERT INTO categories (name, description) VALUES (hex(randomblob(8)), ?)")
      .run(["", null][random(2)] ?? null);
    record(sqlite, "categories", "category.created", "id = last_insert_rowid()");
  },
  "references of orders": (sqlite, random) => {
    const id = some(sqlite, "orders", random);
    sqlite.exec(`UPDATE orders SET reference = ${random(2) === 0 ? "NULL" : "hex(randomblob(8))"},
      version = version + 1 WHERE ${id}`);
    record(sqlite, "orders", "order.updated", id);
  },
  "creations, changes and deletions of webhooks": (sqlite, random) => {
    const id = some(sqlite, "webhooks", random);
    if (random(3) > 0) sqlite.exec(`UPDATE webhooks SET enabled = 1 - enabled, version = version + 1 WHERE ${id}`);
    else sqlite.exec(`DELETE FROM webhooks WHERE ${id}`);
    if (random(3) === 0) addWebhook(sqlite, `https://shop.example/${random(99)}`);
  },
  "keys of patches without a change": (sqlite, random) => addKey(sqlite, null, "{}", random(9)),
  "removals of old events": (sqlite, random) =>
    sqlite.exec(`DELETE FROM events WHERE id < (SELECT min(min(id) + ${random(6)}, max(id)) FROM events)`),
  "removals of old keys": (sqlite, random) =>
    sqlite.exec(`DELETE FROM idempotency_keys WHERE ${random(3)} = 0 AND id = (SELECT min(id) FROM idempotency_keys)`),
  "the removal of all keys": (sqlite, random) => {
    sqlite.exec("DELETE FROM idempotency_keys");
    for (let count = random(6); count > 0; count--) addKey(sqlite, null, `[${count}]`);
  },
};

/** Counts the animals, without an event. */
function count(sqlite: DatabaseSync): void {
  sqlite.exec("INSERT OR REPLACE INTO inventory SELECT 1, count(*), 0, 0, unixepoch() * 1000 FROM pets");
}

/** The condition of one of the rows. */
function some(sqlite: DatabaseSync, table: string, random: (limit: number) => number): string {
  const count = Number(sqlite.prepare(`SELECT count(*) AS count FROM ${table}`).get()?.["count"]);
  const row = sqlite.prepare(`SELECT CAST(id AS TEXT) AS id FROM ${table} ORDER BY ${table}.id LIMIT 1 OFFSET ?`);
  return `id = ${String(row.get(random(count))?.["id"] ?? "NULL")}`;
}

function remove(sqlite: DatabaseSync, table: keyof typeof DATA, resource: string, where: string): void {
  record(sqlite, table, `${resource}.deleted`, where, "json_object('id', id)");
  sqlite.exec(`DELETE FROM ${table} WHERE ${where}`);
}

export function change(sqlite: DatabaseSync, name: string, random: (limit: number) => number): void {
  sqlite.exec("BEGIN");
  CHANGES[name]?.(sqlite, random);
  sqlite.exec("COMMIT");
  count(sqlite);
}
