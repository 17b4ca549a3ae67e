// Stands between the Worker and its storage. Each round trip to KV and D1 takes a known time longer, so that the latency of a request
// tells how many round trips it needs. It keeps what D1 answered: stub.js repeats it.
import worker from "./worker.js";

const answers = [];

function instrumentStatement(milliseconds, { sql, values, statement }) {
  const send = (method) => async () => {
    await scheduler.wait(milliseconds);
    const answer = await statement[method]();
    answers.push({ method, sql, values, answer });
    return answer;
  };
  return {
    sql,
    values,
    statement,
    bind: (...bound) => instrumentStatement(milliseconds, { sql, values: bound, statement: statement.bind(...bound) }),
    all: send("all"),
    raw: send("raw"),
    run: send("run"),
  };
}

function instrumentDatabase(milliseconds, database) {
  return {
    withSession: (start) => instrumentDatabase(milliseconds, database.withSession(start)),
    getBookmark: () => database.getBookmark(),
    prepare: (sql) => instrumentStatement(milliseconds, { sql, values: [], statement: database.prepare(sql) }),
    async batch(statements) {
      await scheduler.wait(milliseconds);
      const results = await database.batch(statements.map(({ statement }) => statement));
      for (const [index, { sql, values }] of statements.entries()) {
        answers.push({ method: "all", sql, values, answer: results[index] });
      }
      return results;
    },
  };
}

function instrumentKeys(milliseconds, keys) {
  return {
    async get(...args) {
      await scheduler.wait(milliseconds);
      return keys.get(...args);
    },
  };
}

export default {
  fetch(request, env, context) {
    if (new URL(request.url).pathname === "/d1-answers") return Response.json(answers);
    const { DELAY_MILLISECONDS, DB, API_KEYS } = env;
    const instrumented = {
      ...env,
      DB: instrumentDatabase(DELAY_MILLISECONDS, DB),
      API_KEYS: instrumentKeys(DELAY_MILLISECONDS, API_KEYS),
    };
    return worker.fetch(request, instrumented, context);
  },
};
