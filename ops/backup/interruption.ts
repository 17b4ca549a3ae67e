import { endChildren } from "../../scripts/child.ts";
import { oneLine } from "../one-line.ts";
import { LeaseLost } from "../release/lease.ts";
import type { Terminal } from "../terminal.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/** A failure whose message says how things are, and how to go on. */
export class StatedFailure extends Error {}

/** What a command says when it ends before its work does. */
export class Interruption {
  /** How things are, and how to go on. Undefined while this command has not changed the database. */
  state: string | undefined;
  /** What has to happen before the process ends. */
  cleanUp: () => Promise<void> = async () => {};

  /** A failure of a restore, with the state. */
  explain(error: unknown): unknown {
    if (error instanceof StatedFailure || this.state === undefined) return error;
    const what = error instanceof LeaseLost ? `The restore stopped, ${error.reason}` : oneLine(error);
    return new Error(`${what} ${this.state}`, { cause: error });
  }

  /** Runs a command. When somebody ends it with a signal, the state is its last line. */
  async watch(terminal: Terminal, run: () => Promise<void>): Promise<void> {
    let isEnding = false;
    const end = (): void => {
      // The second signal does not wait.
      if (isEnding) process.exit(1);
      isEnding = true;
      // Until then, the command goes on, and the state may change.
      process.once("exit", () => terminal.say(this.state ?? "This command did not change the database."));
      endChildren();
      void this.cleanUp().finally(() => process.exit(1));
    };
    for (const signal of SIGNALS) process.on(signal, end);
    try {
      await run();
    } finally {
      for (const signal of SIGNALS) process.off(signal, end);
    }
  }
}
