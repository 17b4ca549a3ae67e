// Prints the digest of the history of a world: digest.ts <seed> <steps>
import { createHash } from "node:crypto";
import { presentCode, runWorld } from "./world.ts";

const [seed, steps] = process.argv.slice(2).map(Number);
const { history } = await runWorld(await presentCode(), { seed: seed ?? 1, steps: steps ?? 500 });
const digest = createHash("sha256");
let bytes = 0;
for (const line of history.lines()) bytes += Buffer.byteLength(line) + (digest.update(`${line}\n`), 1);
console.log(`${digest.digest("hex")} ${bytes}`);
