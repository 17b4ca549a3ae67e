// npm run test:stress: loads the production bundle in workerd over real sockets. Honest programs run beside hostile connections, and
// then behind a proxy that fails, while SIGKILL ends the service again and again. Fails when a response is lost beside hostile
// connections, and when any response contradicts another one or the database. Shows the memory of workerd. Linux only.
import { randomInt } from "node:crypto";
import { Command } from "commander";
import { buildBundle, WRANGLER_SETTINGS } from "../../../scripts/wrangler.ts";
import { stress } from "./stress.ts";

/** Violations to print. */
const SHOWN = 10;

Object.assign(process.env, WRANGLER_SETTINGS);
const { seconds, kills, seed } = new Command("npm run test:stress --")
  .description("Loads the service with hostile connections, a faulty network and kills, and checks every response.")
  .option("--seconds <number>", "beside hostile connections", Number, 300)
  .option("--kills <number>", "of the service", Number, 30)
  .option("--seed <number>", "of the calls", Number, randomInt(2 ** 31))
  .parse()
  .opts<{ seconds: number; kills: number; seed: number }>();
const { lines, violations } = await stress(await buildBundle("production"), seed, seconds, kills);
for (const line of lines) console.log(line);
for (const violation of violations.slice(0, SHOWN)) console.error(violation);
console.log(violations.length === 0 ? "Every response agrees with the database." : "FAILED");
process.exit(violations.length === 0 ? 0 : 1);
