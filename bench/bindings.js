// Bindings as JavaScript in the Worker's own isolate, so that only the Worker's cost is measured. KV contains one key, and the
// rate limiter always permits. With a real D1, each of its results is recorded. Without one, D1 replays the recorded result of
// the same statement, so that a Worker may send any SQL.
import worker from "./worker.js";
import storage from "./storage.json";

const { keyName, keyRecord, answers } = JSON.parse(storage);
const record = JSON.parse(keyRecord);
/** By method and SQL. */
const known = {};
for (const answer of answers) (known[`${answer.method} ${answer.sql}`] ??= []).push(answer);

class Statement {
  constructor(sql, values, real, inSession) {
    this.sql = sql;
    this.values = values;
    this.real = real;
    this.inSession = inSession;
  }
  bind(...values) {
    return new Statement(this.sql, values, this.real?.bind(...values), this.inSession);
  }
  async all() {
    const { meta, results } = await this.answer("all");
    // A copy, because a Worker may shorten it.
    return { success: true, meta, results: results.slice() };
  }
  async run() {
    return this.answer("run");
  }
  async raw() {
    return (await this.answer("raw")).slice();
  }
  answer(method) {
    if (this.real !== undefined) return this.real[method]().then((answer) => this.keep(method, answer));
    const same = known[`${method} ${this.sql}`];
    if (same === undefined) throw new Error(`The real D1 was never sent: ${this.sql}`);
    // A value may be new in each request, for example a time. Then the first result is used.
    return (same.find(({ values }) => values.every((value, index) => value === this.values[index])) ?? same[0]).answer;
  }
  keep(method, answer) {
    answers.push({ method, sql: this.sql, values: this.values, answer, inSession: this.inSession });
    return answer;
  }
}

/** @param real the real D1 or a session of it, if any. */
const database = (real, inSession = false) => ({
  withSession: (start) => (real === undefined ? stub : database(real.withSession(start), true)),
  getBookmark: () => "00000085-0000024c-00004c6d-8e61117bf38d7adb71b934ebbf891683",
  prepare: (sql) => new Statement(sql, [], real?.prepare(sql), inSession),
  async batch(statements) {
    if (real === undefined) return Promise.all(statements.map((statement) => statement.all()));
    const results = await real.batch(statements.map((statement) => statement.real));
    return results.map((answer, index) => statements[index].keep("all", answer));
  },
});
const stub = database();
/** The objects of the webhooks, which answer without an effect. */
const object = new Proxy({}, { get: () => async () => ({ deliveries: [] }) });
const limiter = { limit: async () => ({ success: true }) };
const bindings = {
  ENVIRONMENT: "production",
  LOG_SUCCESS_SHARE: "1",
  // A run sends more than one key may store.
  STORED_MIB: "999999",
  TOKEN_SECRET: "a secret of this benchmark, and no other one",
  VERSION: { id: "5d9f7c1e-3c0b-4a55-8f6e-2b1d0c9a8e77", tag: "", timestamp: "2026-11-01T00:00:00.000Z" },
  API_KEYS: {
    async get(name, options) {
      if (name !== keyName) return null;
      return options === "json" || options?.type === "json" ? { ...record } : keyRecord;
    },
  },
  RATE_LIMITER: limiter,
  CUSTOMER_RATE_LIMITER: limiter,
  TOKEN_RATE_LIMITER: limiter,
  WEBHOOKS: { getByName: () => object },
};
const stubbed = { ...bindings, DB: stub };

export default {
  fetch(request, env, context) {
    if (env.DB === undefined) return worker.fetch(request, stubbed, context);
    if (request.url.endsWith("/answers")) return Response.json(answers);
    return worker.fetch(request, { ...bindings, DB: database(env.DB) }, context);
  },
};
