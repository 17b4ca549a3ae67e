import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

// Finds the other `npm run dev` on the same local storage. Each leaves an empty file in the folder of the storage, named after a port
// on the loopback interface and a random text, and tells that name to whoever asks on the port. A process that was killed
// leaves its file behind, but no other process knows the name, even if it gets the same port.

/** Milliseconds to wait for an answer. A process that is loading wrangler does not answer at once. */
const PATIENCE = 5_000;

/** Another `npm run dev`. `address` is where it serves, and is absent while it starts. */
export interface Neighbour {
  address?: string;
}

/**
 * Makes this process known, until it ends, to every later `npm run dev` on the same storage.
 *
 * @param state the folder of the storage.
 * @returns those that run now, and a function that tells later ones where this one serves.
 */
export async function joinStorage(
  state: string,
): Promise<{ neighbours: Neighbour[]; serveAt: (address: string) => void }> {
  const answer: Neighbour & { name?: string } = {};
  const server = createServer((_request, response) => response.end(JSON.stringify(answer)));
  server.listen(0, "127.0.0.1").unref();
  await once(server, "listening");

  const folder = join(state, "dev");
  const name = `${(server.address() as AddressInfo).port}-${randomUUID()}`;
  answer.name = name;
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, name), "");
  process.once("exit", () => rmSync(join(folder, name), { force: true }));

  const others = readdirSync(folder).filter((other) => other !== name);
  const found = await Promise.all(others.map((other) => findNeighbour(folder, other)));
  return {
    neighbours: found.filter((neighbour) => neighbour !== undefined),
    serveAt(address) {
      answer.address = address;
    },
  };
}

async function findNeighbour(folder: string, name: string): Promise<Neighbour | undefined> {
  try {
    const response = await fetch(`http://127.0.0.1:${Number.parseInt(name)}`, {
      signal: AbortSignal.timeout(PATIENCE),
    });
    const answer = (await response.json()) as Neighbour & { name?: string };
    if (answer.name === name) return answer;
  } catch (error) {
    // It may be suspended, and come back.
    if (error instanceof DOMException && error.name === "TimeoutError") return undefined;
  }
  rmSync(join(folder, name), { force: true });
  return undefined;
}
