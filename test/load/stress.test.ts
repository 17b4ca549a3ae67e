import { randomInt } from "node:crypto";
import { expect, inject, test } from "vitest";
import { stress } from "./stress/stress.ts";

// npm run test:stress does the same for longer.

// Promise: 201-is-durable, created-once, faults
test("beside hostile connections, a faulty network and kills, every response agrees with the database", async () => {
  const { lines, violations } = await stress(inject("bundle"), randomInt(2 ** 31), 20, 3);
  console.log(lines.join("\n"));
  expect(violations).toEqual([]);
});
