// npm run test:client: creates 10,000 animals with the TypeScript client on the production bundle, through a proxy that drops,
// delays, cuts or replaces one in three responses. Fails when an animal is lost, doubled or rounded, or when the memory grows.
// `-- --creations 500` sets another number.
import { parseArgs } from "node:util";
import { startProductionService } from "../../../scripts/production-service.ts";
import { buildBundle, WRANGLER_SETTINGS } from "../../../scripts/wrangler.ts";
import { createThroughChaos } from "./creations.ts";

/** MiB that the heap may grow after the first fifth of the creations. */
const GROWTH = 8;

Object.assign(process.env, WRANGLER_SETTINGS);
const { values } = parseArgs({ options: { creations: { type: "string", default: "10000" } } });
const count = Number(values.creations);
if (!Number.isSafeInteger(count) || count < 5) throw new Error("--creations has to be an integer of at least 5.");

const service = await startProductionService(await buildBundle("production"));
try {
  const heap: number[] = [];
  const { proxy, seconds, replayed, ...faults } = await createThroughChaos(service, count, (created) => {
    if (created % Math.floor(count / 5) === 0) heap.push(heapInUse());
  });

  console.log(
    `${count} creations, ${proxy.requests} requests, ${replayed} replayed responses, ${seconds.toFixed(0)} s`,
  );
  for (const [fault, times] of proxy.faults) console.log(`${String(times).padStart(6)} ${fault}`);
  console.log(`MiB of heap after each fifth: ${heap.map((mebibytes) => mebibytes.toFixed(1)).join(", ")}`);
  for (const [name, indices] of Object.entries(faults)) console.log(`${name}: ${indices.length}`);

  const [first = 0] = heap;
  const grew = (heap.at(-1) ?? 0) - first > GROWTH;
  if (grew) console.error(`The heap grew by more than ${GROWTH} MiB.`);
  if (grew || Object.values(faults).some(({ length }) => length > 0)) process.exitCode = 1;
} finally {
  await service.harness.close();
}

/** MiB after a garbage collection. The harness keeps its logs in this process. */
function heapInUse(): number {
  service.harness.clearLogs();
  gc?.();
  return process.memoryUsage().heapUsed / 1024 ** 2;
}
