import type { Terminal } from "../terminal.ts";
import { runNpm } from "../../scripts/npm.ts";

/** @throws Error unless `npm run check` passes. It prints on standard error. */
export async function runChecks(terminal: Terminal): Promise<void> {
  terminal.say("\n$ npm run check");
  if (!(await runNpm(["run", "check"]))) throw new Error("npm run check fails, so nothing was released.");
}
