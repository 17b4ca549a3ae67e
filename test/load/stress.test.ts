import { randomInt } from "node:crypto";
import { expect, inject, test } from "vitest";
import { stress } from "./stress/stress.ts";

/** `npm run test:stress` goes on for longer. Linux only. */
const SECONDS = Number(process.env["STRESS_SECONDS"] ?? 20);
const KILLS = Number(process.env["STRESS_KILLS"] ?? 3);
const SEED = Number(process.env["STRESS_SEED"] ?? randomInt(2 ** 31));

// Promise: 201-is-durable, created-once, faults
test(
  `beside hostile connections, a faulty network and ${KILLS} kills, every response agrees with the database`,
  async () => {
    const { lines, violations } = await stress(inject("bundle"), SEED, SECONDS, KILLS);
    console.log(`seed ${SEED}\n${lines.join("\n")}`);
    expect(violations.slice(0, 10)).toEqual([]);
  },
  // Milliseconds.
  300_000 + 2_000 * SECONDS + 30_000 * KILLS,
);
