// The bindings as JavaScript in the Worker's own isolate, so that only the Worker's cost shows: D1 that answers at once with rows made in
// advance, KV with one key, a rate limiter with room.
import worker from "./worker.js";

// Filled in by server.ts.
const KEY_NAME = "KEY_NAME_HERE";
const RECORD_TEXT = "KEY_RECORD_HERE";
const RECORD = JSON.parse(RECORD_TEXT);
const META = { duration: 0.1, rows_read: 21, rows_written: 0, changes: 1 };
const numbers = Array.from({ length: 101 }, (_, i) => ({
  id: i + 1,
  name: `Animal ${i + 1}`,
  categoryId: i % 7,
  status: "available",
}));
const texts = numbers.map((row) => ({ ...row, id: String(row.id), categoryId: String(row.categoryId) }));
const arrays = numbers.map((row) => Object.values(row));

function rowCount(sql, values) {
  return /limit/i.test(sql) ? Number(values.at(-1)) : 1;
}
/** Of the creation that was remembered last. */
let fingerprint;

class Statement {
  constructor(sql, values) {
    this.sql = sql;
    this.values = values;
  }
  bind(...values) {
    return new Statement(this.sql, values);
  }
  async all() {
    if (this.sql.startsWith('insert into "idempotency_keys"')) fingerprint = this.values[2];
    if (this.sql.startsWith('select "fingerprint"')) {
      return { success: true, meta: META, results: [{ fingerprint, resourceId: "1" }] };
    }
    const rows = /cast/i.test(this.sql) ? texts : numbers;
    return { success: true, meta: META, results: rows.slice(0, rowCount(this.sql, this.values)) };
  }
  async raw() {
    return arrays.slice(0, rowCount(this.sql, this.values));
  }
}
const session = {
  prepare: (sql) => new Statement(sql, []),
  batch: (statements) => Promise.all(statements.map((statement) => statement.all())),
  getBookmark: () => "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683",
};
const env = {
  ENVIRONMENT: "production",
  DB: { ...session, withSession: () => session },
  API_KEYS: {
    async get(name, options) {
      if (name !== KEY_NAME) return null;
      return options === "json" || options?.type === "json" ? { ...RECORD } : RECORD_TEXT;
    },
  },
  RATE_LIMITER: { limit: async () => ({ success: true }) },
};

export default { fetch: (request, _env, context) => worker.fetch(request, env, context) };
