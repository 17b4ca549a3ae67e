import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { startSlowInstance } from "../../bench/overload.ts";
import { AUTHORIZATION } from "../../bench/requests.ts";

test("2,000 requests for one page that may be five seconds old make few queries, and get equal responses", async () => {
  const connections = 16;
  const maxAge = 5;
  const script = readFileSync(join(inject("bundle"), "index.js"), "utf8");
  await using instance = await startSlowInstance({ script, migrations: "drizzle" }, { milliseconds: 0, readMaxAge: 0 });
  const responses = new Set<string>();
  const sendAll = async (count: number, headers: Record<string, string>) => {
    const before = await instance.reads();
    let left = count;
    const converse = async () => {
      while (left-- > 0) {
        const response = await fetch(`http://127.0.0.1:${instance.port}/v1/pets?limit=100`, {
          headers: { Authorization: AUTHORIZATION, ...headers },
        });
        responses.add(`${response.status} ${response.headers.get("Link")} ${await response.text()}`);
      }
    };
    await Promise.all(Array.from({ length: connections }, converse));
    return (await instance.reads()) - before;
  };
  expect(await sendAll(100, {})).toBe(100);
  const began = performance.now();
  const queries = await sendAll(2_000, { "Cache-Control": `max-age=${maxAge}` });
  const seconds = (performance.now() - began) / 1_000;
  console.log(`${queries} queries for 2,000 requests in ${seconds.toFixed(1)} s`);
  // Each connection may ask D1 at the beginning and then after each `maxAge`, or a little earlier if an older response replaced its own.
  expect(queries).toBeLessThanOrEqual(connections * (Math.ceil(seconds / maxAge) + 1));
  expect(responses.size).toBe(1);
});
