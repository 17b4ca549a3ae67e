// Reads ids of processes, one on each line, and ends them when its standard input ends: with the process that wrote them, even by kill -9.
// scripts/child.ts starts it.
import { text } from "node:stream/consumers";

for (const id of (await text(process.stdin)).split("\n").filter(Boolean)) {
  try {
    process.kill(Number(id), "SIGKILL");
  } catch {
    // It has ended already.
  }
}
