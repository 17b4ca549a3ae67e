// The bindings with a known delay before each round trip to KV and to D1, so that the latency of a request tells how many it needs.
import worker from "./worker.js";

const delayed =
  (milliseconds, call) =>
  async (...args) => {
    await scheduler.wait(milliseconds);
    return call(...args);
  };

function delayStatement(milliseconds, statement) {
  return {
    statement,
    bind: (...values) => delayStatement(milliseconds, statement.bind(...values)),
    all: delayed(milliseconds, () => statement.all()),
    raw: delayed(milliseconds, () => statement.raw()),
    run: delayed(milliseconds, () => statement.run()),
  };
}

function delayDatabase(milliseconds, database) {
  return {
    withSession: (start) => delayDatabase(milliseconds, database.withSession(start)),
    getBookmark: () => database.getBookmark(),
    prepare: (sql) => delayStatement(milliseconds, database.prepare(sql)),
    batch: delayed(milliseconds, (statements) => database.batch(statements.map(({ statement }) => statement))),
  };
}

export default {
  fetch: (request, env, context) =>
    worker.fetch(
      request,
      {
        ...env,
        DB: delayDatabase(env.DELAY_MILLISECONDS, env.DB),
        API_KEYS: { get: delayed(env.DELAY_MILLISECONDS, (...args) => env.API_KEYS.get(...args)) },
      },
      context,
    ),
};
