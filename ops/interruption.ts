import { endChildren } from "../scripts/child.ts";
import { oneLine } from "./one-line.ts";
import { LeaseLost } from "./release/lease.ts";
import type { Terminal } from "./terminal.ts";

const SIGNALS = ["SIGINT", "SIGTERM"] as const;
/** Milliseconds in which a signal comes twice for one Ctrl-C: the terminal sends it to every process, and npm passes on its own. */
const ECHO = 1_000;

/** A failure whose message says how things are, and how to go on. */
export class StatedFailure extends Error {}

/** What a command says when it ends before its work does. */
export class Interruption {
  /** How things are, and how to go on. Undefined while this command has changed nothing. */
  state: string | undefined;
  /** What has to happen before the process ends. */
  cleanUp: () => Promise<void> = async () => {};
  readonly #unchanged: string;
  #isEnding = false;
  #step: Promise<unknown> | undefined;

  /** @param unchanged what it says without a state. */
  constructor(unchanged = "This command did not change the database.") {
    this.#unchanged = unchanged;
  }

  /** A failure with the state. */
  explain(error: unknown): unknown {
    if (error instanceof StatedFailure || this.state === undefined) return error;
    const what = error instanceof LeaseLost ? `It stopped, ${error.reason}` : oneLine(error);
    return new Error(`${what} ${this.state}`, { cause: error });
  }

  /**
   * Takes a step whose result nobody would know if it ended in the middle. The first signal waits for its end.
   *
   * @param during the state until then, and after a failure unless `isHarmless` tells that it changed nothing.
   * @throws Error when somebody has ended the command, and the error of the step.
   */
  async pass<Result>(
    during: string,
    step: () => Promise<Result>,
    isHarmless: (error: unknown) => Promise<boolean>,
  ): Promise<Result> {
    if (this.#isEnding) throw new Error("Somebody ended this command.");
    const before = this.state;
    this.state = during;
    const running = step().catch(async (error: unknown) => {
      if (await isHarmless(error)) this.state = before;
      throw error;
    });
    this.#step = running.catch(() => {});
    return running;
  }

  /** Runs a command. When it fails, or when somebody ends it with a signal, its last line has the state. */
  async run(terminal: Terminal, command: () => Promise<void>): Promise<void> {
    await this.watch(terminal, () =>
      command().catch((error: unknown) => {
        throw this.explain(error);
      }),
    );
  }

  /** Runs a command. When somebody ends it with a signal, the state is its last line. */
  async watch(terminal: Terminal, run: () => Promise<void>): Promise<void> {
    let first: { signal: NodeJS.Signals; at: number } | undefined;
    const end = (signal: NodeJS.Signals): void => {
      if (first?.signal === signal && performance.now() - first.at < ECHO) return;
      // The second signal does not wait.
      if (this.#isEnding) process.exit(1);
      this.#isEnding = true;
      first = { signal, at: performance.now() };
      // Until then, the command goes on, and the state may change.
      process.once("exit", () => terminal.say(this.state ?? this.#unchanged));
      terminal.say("\nThis ends after the present step. A second signal does not wait.");
      void this.#end().finally(() => process.exit(1));
    };
    for (const signal of SIGNALS) process.on(signal, end);
    try {
      await run();
    } finally {
      for (const signal of SIGNALS) process.off(signal, end);
    }
  }

  async #end(): Promise<void> {
    await this.#step;
    endChildren();
    await this.cleanUp();
  }
}
