import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { startInstance } from "../../bench/instance.ts";
import { AUTHORIZATION } from "../../bench/requests.ts";

/** In front of the Worker: a database that is far away, and a small budget. It logs each change, and each read of whom to tell. */
const FAR = `
import worker from "./worker.js";
export * from "./worker.js";
const log = (event) => console.log(JSON.stringify({ event }));
const far = (DB) => ({
  prepare(sql) {
    if (sql.includes("live_hubs")) log("told");
    return DB.prepare(sql);
  },
  withSession(start) {
    const session = DB.withSession(start);
    const late = async (event, answer) => {
      const results = await answer;
      log(event);
      await scheduler.wait(500);
      return results;
    };
    const bind = (statement, values) => {
      const bound = statement.bind(...values);
      const all = bound.all.bind(bound);
      return Object.assign(bound, { all: () => late("read", all()) });
    };
    return {
      prepare: (sql) => ({ bind: (...values) => bind(session.prepare(sql), values) }),
      batch: (statements) => late("changed", session.batch(statements)),
      getBookmark: () => session.getBookmark(),
    };
  },
});
export default {
  fetch: (request, env, context) => worker.fetch(request, { ...env, DB: far(env.DB), STORED_MIB: "1" }, context),
};`;
const HEADERS = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
const REX = { name: "x".repeat(255), categoryId: 1 };
/** Batches that store more than 1 MiB. */
const MANY = 30;

async function start() {
  const script = readFileSync(join(inject("bundle"), "index.js"), "utf8");
  const lines: Record<string, unknown>[] = [];
  const before = [{ type: "ESModule" as const, path: "far.js", contents: FAR }];
  const service = await startInstance({ script, migrations: "drizzle" }, 0, before, (line) => lines.push(line));
  const count = (event: string) => lines.filter((line) => line["event"] === event).length;
  return Object.assign(service, { lines, count });
}

/** Sends a request, and resets the connection when the database has answered: workerd does not notice a plain end before it responds. */
async function leave(service: Awaited<ReturnType<typeof start>>, request: string, event: string, body = "") {
  const before = service.count(event);
  const fields = Object.entries({ ...HEADERS, Host: "petstore.example", "Content-Length": body.length });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const socket = connect(service.port, "127.0.0.1");
  socket.write(`${request} HTTP/1.1\r\n${head}\r\n${body}`);
  await expect.poll(() => service.count(event), { interval: 10 }).toBe(before + 1);
  socket.resetAndDestroy();
}

// Promise: numbers-of-webhooks, stored-bytes-are-limited
test("a change whose client has left is told at once, and counts against the budget of its key", async () => {
  await using service = await start();
  const body = JSON.stringify(Array.from({ length: 100 }, () => REX));
  for (let left = 1; left <= MANY; left++) await leave(service, "POST /v1/pets/batch", "changed", body);
  await expect.poll(() => service.count("told")).toBeGreaterThan(0);
  const create = async () => {
    const next = { method: "POST", headers: HEADERS, body: JSON.stringify({ name: crypto.randomUUID() }) };
    return (await fetch(`http://127.0.0.1:${service.port}/v1/categories`, next)).status;
  };
  await expect.poll(create, { interval: 500 }).toBe(429);
});

test("a search whose client has left is in the log", async () => {
  await using service = await start();
  await leave(service, "GET /v1/pets?q=rex", "read");
  const found = () => service.lines.find(({ route }) => route === "/v1/pets");
  await expect.poll(found).toMatchObject({ status: 200, keyId: expect.any(String), d1RowsRead: expect.any(Number) });
});
