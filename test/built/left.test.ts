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
    const batch = async (statements) => {
      const results = await session.batch(statements);
      log("changed");
      await scheduler.wait(500);
      return results;
    };
    return { prepare: (sql) => session.prepare(sql), batch, getBookmark: () => session.getBookmark() };
  },
});
export default {
  fetch: (request, env, context) => worker.fetch(request, { ...env, DB: far(env.DB), STORED_MIB: "1" }, context),
};`;
const REX = { name: "x".repeat(255), categoryId: 1 };
/** Batches that store more than 1 MiB. */
const MANY = 30;

// Promise: numbers-of-webhooks, stored-bytes-are-limited
test("a change whose client has left is told at once, and counts against the budget of its key", async () => {
  const script = readFileSync(join(inject("bundle"), "index.js"), "utf8");
  const events: unknown[] = [];
  const count = (event: string) => events.filter((one) => one === event).length;
  const before = [{ type: "ESModule" as const, path: "far.js", contents: FAR }];
  await using service = await startInstance({ script, migrations: "drizzle" }, 0, before, ({ event }) =>
    events.push(event),
  );
  const headers = { Authorization: AUTHORIZATION, "Content-Type": "application/json" };
  const body = JSON.stringify(Array.from({ length: 100 }, () => REX));
  const fields = Object.entries({ ...headers, Host: "petstore.example", "Content-Length": body.length });
  const head = fields.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  for (let left = 1; left <= MANY; left++) {
    const socket = connect(service.port, "127.0.0.1");
    socket.write(`POST /v1/pets/batch HTTP/1.1\r\n${head}\r\n${body}`);
    await expect.poll(() => count("changed"), { interval: 10 }).toBe(left);
    // A reset: workerd does not notice a plain end before it responds.
    socket.resetAndDestroy();
  }
  await expect.poll(() => count("told")).toBeGreaterThan(0);
  const create = async () => {
    const next = { method: "POST", headers, body: JSON.stringify({ name: crypto.randomUUID() }) };
    return (await fetch(`http://127.0.0.1:${service.port}/v1/categories`, next)).status;
  };
  await expect.poll(create, { interval: 500 }).toBe(429);
});
