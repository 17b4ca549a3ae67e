// npm run test:crash: kills the service with SIGKILL during 1,000 creations, restarts it on the same storage, and fetches every
// animal whose creation returned 201. Five rounds, each with new storage and another time of the kill.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { prepareLocalState } from "../../scripts/local-state.ts";
import { LOCAL_API_KEY } from "../../src/local-api-key.ts";
import { startKillableService } from "./killable-service.ts";

const ROUNDS = 5;
const CREATES = 1_000;
const CONNECTIONS = 8;
const HEADERS = { Authorization: `Bearer ${LOCAL_API_KEY}`, "Content-Type": "application/json" };

interface Animal {
  id: number;
  name: string;
}

let failed = false;
for (let round = 1; round <= ROUNDS; round++) {
  const state = mkdtempSync(join(tmpdir(), "petstore-crash-"));
  try {
    await prepareLocalState(state);
    // A different moment in each round: after 15, 30, 45, 60 and 75 percent of the creations.
    const { acknowledged, unanswered } = await createUntilKilled(state, Math.floor((CREATES * 0.75 * round) / ROUNDS));
    const missing = await findMissing(state, acknowledged);
    console.log(
      `Round ${round}: ${acknowledged.length} animals answered 201, ${unanswered} creates without an answer, ` +
        `${missing.length} animals missing after the restart.`,
    );
    failed ||= missing.length > 0 || unanswered === 0;
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
}
console.log(failed ? "FAILED" : "Every animal that was answered 201 is there, in every round.");
process.exitCode = failed ? 1 : 0;

async function createUntilKilled(state: string, killAfter: number) {
  const service = await startKillableService(state, "--env=");
  const acknowledged: Animal[] = [];
  let next = 0;
  let unanswered = 0;
  async function worker(): Promise<void> {
    while (next < CREATES) {
      const name = `Animal ${next++}`;
      try {
        const body = JSON.stringify({ name, categoryId: 1 });
        const response = await fetch(`${service.url}/v1/pets`, { method: "POST", headers: HEADERS, body });
        if (response.status !== 201) throw new Error(`status ${response.status}`);
        acknowledged.push((await response.json()) as Animal);
        if (acknowledged.length === killAfter) await service.kill();
      } catch {
        unanswered++;
      }
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, worker));
  await service.kill();
  return { acknowledged, unanswered };
}

async function findMissing(state: string, expected: Animal[]): Promise<Animal[]> {
  const service = await startKillableService(state, "--env=");
  const found = new Map<number, string>();
  let url: string | undefined = `${service.url}/v1/pets?limit=100`;
  while (url !== undefined) {
    const response: Response = await fetch(url, { headers: HEADERS });
    const animals: Animal[] = await response.json();
    for (const { id, name } of animals) found.set(id, name);
    url = /<(.+)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1];
  }
  await service.kill();
  return expected.filter(({ id, name }) => found.get(id) !== name);
}
