// In front of a Worker: D1 that runs one read at a time, each for a fixed time, and a count of these reads.
import worker from "./worker.js";
import text from "./settings.json";

const { milliseconds, readMaxAge } = JSON.parse(text);
let reads = 0;
/** When all reads that have arrived are done, in milliseconds since the epoch. */
let idleAt = 0;

function turn() {
  reads++;
  const now = Date.now();
  idleAt = Math.max(idleAt, now) + milliseconds;
  return scheduler.wait(idleAt - now);
}

const slow = (statement) => ({
  bind: (...values) => slow(statement.bind(...values)),
  async all() {
    await turn();
    return statement.all();
  },
});
const database = (real) => ({
  withSession(start) {
    const session = real.withSession(start);
    return { getBookmark: () => session.getBookmark(), prepare: (sql) => slow(session.prepare(sql)) };
  },
});

export default {
  fetch(request, env, context) {
    if (request.url.endsWith("/reads")) return Response.json(reads);
    return worker.fetch(request, { ...env, DB: database(env.DB), READ_MAX_AGE: String(readMaxAge) }, context);
  },
};
