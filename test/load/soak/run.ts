// npm run test:soak: runs ten minutes of steady load on the production bundle in workerd, with hostile clients in the middle
// three fifths. Fails when an honest client loses a response or gets an undocumented one, and when an animal is lost or doubled.
// `-- --minutes 0.5` sets another duration. Draws docs/soak-test.svg. Linux only. The memory includes the simulators of D1 and
// KV, which run in the same processes.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { parseArgs } from "node:util";
import { grantProductionKey, startProductionService } from "../../../scripts/production-service.ts";
import { buildBundle, WRANGLER_SETTINGS } from "../../../scripts/wrangler.ts";
import { chart } from "./chart.ts";
import { report, type Sample } from "./figures.ts";
import { findWorkerd, residentMemory } from "./memory.ts";
import { sendSteadyLoad } from "./steady-load.ts";
import { Trouble, TROUBLEMAKERS } from "./trouble.ts";

const CHART = join(import.meta.dirname, "../../../docs/soak-test.svg");
/** Keys of the steady load and of the hostile load. Each stays far below its limit of 1,000 requests a minute. */
const KEYS = 8;

Object.assign(process.env, WRANGLER_SETTINGS);
const { values } = parseArgs({ options: { minutes: { type: "string", default: "10" } } });
const milliseconds = Number(values.minutes) * 60_000;
if (!(milliseconds > 0)) throw new Error("--minutes has to be a number above 0.");

const service = await startProductionService(await buildBundle("production"));
try {
  const grantKeys = () => Promise.all(Array.from({ length: KEYS }, () => grantProductionKey(service.worker)));
  const keys = await grantKeys();
  const processes = findWorkerd();
  if (processes.length === 0) throw new Error("No process of workerd was found.");

  const trouble = new Trouble(service.url, await grantKeys());
  const memory: Sample[] = [];
  const begin = performance.now();
  const elapsed = () => (performance.now() - begin) / 1_000;
  const sampling = setInterval(() => {
    memory.push({ second: elapsed(), value: residentMemory(processes) });
    // The harness keeps all of them in this process.
    service.harness.clearLogs();
  }, 1_000);

  const [load, span] = await Promise.all([
    sendSteadyLoad({ url: service.url, keys }, milliseconds, () => trouble.isActive),
    (async () => {
      await wait(milliseconds / 5);
      const from = elapsed();
      await trouble.make((milliseconds * 3) / 5);
      return { from, to: elapsed() };
    })(),
  ]);
  clearInterval(sampling);

  writeFileSync(CHART, chart(report(load, memory, span, elapsed())));
  for (const [name, endings] of trouble.endings) console.log(`${name}: ${JSON.stringify(Object.fromEntries(endings))}`);
  for (const [cause, count] of load.lost) console.error(`Lost: ${count} times ${cause}`);

  const { DB } = await service.worker.getEnv();
  const stored = await DB.prepare("SELECT count(*) AS animals FROM pets").first<number>("animals");
  const created = load.answers.filter((answer) => answer.created).length;
  console.log(`${created} creations were answered 201, and ${stored} animals are stored.`);
  const everyKind = Object.keys(TROUBLEMAKERS).every((name) => trouble.endings.has(name));
  if (!everyKind) console.error("A kind of trouble never happened: the time was too short.");
  if (load.lost.size > 0 || stored !== created || !everyKind) process.exitCode = 1;
} finally {
  await service.harness.close();
}
