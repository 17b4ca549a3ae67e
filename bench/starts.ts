// The time that a new process takes until it has answered for the first time.
import type { Prepared } from "./prepare.ts";
import { Server } from "./server.ts";
import { shuffle } from "./shuffle.ts";

/** Milliseconds from the start of the process to the end of its first answer, of each candidate. */
export async function measureStarts(candidates: Prepared[], count: number): Promise<number[][]> {
  const measured = candidates.map((candidate) => ({ candidate, starts: [] as number[] }));
  for (let round = 0; round < count; round++) {
    for (const { candidate, starts } of shuffle(measured)) {
      const began = performance.now();
      await using _server = await Server.start(candidate);
      starts.push(performance.now() - began);
    }
  }
  return measured.map(({ starts }) => starts);
}
