// node --import: ends a program and all that it started when its parent has ended, even by kill -9. The parent holds the other end of a
// pipe, and writes nothing to it. scripts/child.ts starts such programs.
import { Socket } from "node:net";
import { isMainThread } from "node:worker_threads";

/** The descriptor of the pipe. */
const PIPE = 3;

if (isMainThread) {
  const parent = new Socket({ fd: PIPE, readable: true, writable: false });
  // Does not keep the program from ending by itself.
  parent.unref();
  parent.on("error", () => {});
  parent.on("close", () => process.kill(-process.pid, "SIGKILL"));
  parent.resume();
}
