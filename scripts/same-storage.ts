import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";

// Finds another `npm run dev` on the same local storage. Each process creates an empty file in the folder of the storage, named
// after a loopback port and a random text, and returns that name on the port. The file of a killed process remains, but no other
// process returns its name, even on the same port.

/** Milliseconds to wait for a response. A process that loads wrangler does not respond at once. */
const PATIENCE = 10_000;
/** Seconds to wait for the start of another process. */
const START_SECONDS = 120;

/** Another `npm run dev`. Its `address` is absent while it starts. */
export interface Neighbour {
  address?: string;
}

/** What a process returns on its port. `cameAt` is a time of the clock that all processes share, in nanoseconds. */
type Answer = Neighbour & { name?: string; cameAt?: number };

/**
 * Announces this process to every later `npm run dev` on the same storage, until it ends. Waits for earlier ones that start: at the same
 * time, they would lock each other's database and choose the same port.
 *
 * @param state the folder of the storage.
 * @returns the running processes, and a function that sets the address of this one for later ones.
 */
export async function joinStorage(
  state: string,
): Promise<{ neighbours: Neighbour[]; serveAt: (address: string) => void }> {
  const answer: Answer = {};
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");

  const folder = join(state, "dev");
  const name = `${(server.address() as AddressInfo).port}-${randomUUID()}`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), "");
  process.once("exit", () => rmSync(join(folder, name), { force: true }));
  // After the file and before the search: who is not found here creates a file later, and so comes later. The times of files do not tell,
  // because two of them may be the same.
  const cameAt = Number(process.hrtime.bigint());
  Object.assign(answer, { name, cameAt });
  const others = readdirSync(folder).filter((other) => other !== name);
  const found = await Promise.all(others.map((other) => findNeighbour(folder, other, cameAt)));
  return {
    neighbours: found.filter((neighbour) => neighbour !== undefined),
    serveAt(address) {
      answer.address = address;
    },
  };
}

async function findNeighbour(folder: string, name: string, cameAt: number): Promise<Neighbour | undefined> {
  try {
    for (let second = 0; ; second += 1) {
      const response = await fetch(`http://127.0.0.1:${Number.parseInt(name)}`, {
        signal: AbortSignal.timeout(PATIENCE),
      });
      const answer = (await response.json()) as Answer;
      if (answer.name !== name) break;
      if (answer.address !== undefined || cameAt < (answer.cameAt ?? 0) || second === START_SECONDS) return answer;
      if (second === 0) console.log("Another npm run dev starts on the same storage. Waiting for it ...");
      await setTimeout(1_000);
    }
  } catch (error) {
    // It may be suspended and resume later.
    if (error instanceof DOMException && error.name === "TimeoutError") return undefined;
  }
  rmSync(join(folder, name), { force: true });
  return undefined;
}
