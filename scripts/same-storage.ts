import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

// Finds another `npm run dev` on the same local storage. Each process creates an empty file in the folder of the storage, named
// after a loopback port and a random text, and returns that name on the port. The file of a killed process remains, but no other
// process returns its name, even on the same port.

/** Milliseconds to wait for a response. A process that loads wrangler does not respond at once. */
const PATIENCE = 5_000;

/** Another `npm run dev`. Its `address` is absent while it starts. */
export interface Neighbour {
  address?: string;
}

/**
 * Announces this process to every later `npm run dev` on the same storage, until it ends.
 *
 * @param state the folder of the storage.
 * @returns the running processes, and a function that sets the address of this one for later ones.
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
    // It may be suspended and resume later.
    if (error instanceof DOMException && error.name === "TimeoutError") return undefined;
  }
  rmSync(join(folder, name), { force: true });
  return undefined;
}
