import { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import type { State } from "./state.ts";
import { deleteHub, insertHub, selectHub } from "./statements.ts";

/** Milliseconds between two checks of the listeners. */
const CHECK = 60_000;

/** The row of a hub, which tells isolates to nudge it, and the alarm that goes with it. Its changes come one after the other. */
export class Registration {
  readonly #state: State;
  readonly #env: Env;
  readonly #storage: DurableObjectStorage;
  readonly #onNew: () => void;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param onNew isolates may not know the row yet that was inserted now. */
  constructor(state: State, env: Env, { storage }: DurableObjectState, onNew: () => void) {
    [this.#state, this.#env, this.#storage, this.#onNew] = [state, env, storage, onNew];
  }

  /** A hub is registered for as long as it has listeners, before the first is answered. */
  begin(): Promise<void> {
    return this.inTurn(async () => {
      if (this.#state.now.registeredAt === 0) await this.#insert();
      await this.setAlarm();
    });
  }

  /** Inserts the row again that a restore of the database has removed. */
  renew(): Promise<void> {
    return this.inTurn(async () => {
      const { name } = this.#state.now;
      const [row] = await new Session(this.#env.DB, undefined).readFromPrimary(selectHub({ name }));
      if (row === undefined || this.#state.now.registeredAt === 0) await this.#insert();
    });
  }

  async #insert(): Promise<void> {
    // First: the row may be there although this fails, and isolates would not know it.
    this.#state.keep({ registeredAt: 0 });
    await this.#write(insertHub({ name: this.#state.now.name }));
    this.#state.keep({ registeredAt: Date.now() });
    this.#onNew();
  }

  /** @param isOver whether nobody has come meanwhile. */
  end(isOver: () => boolean): Promise<void> {
    return this.inTurn(async () => {
      if (!isOver()) return;
      // First: whoever comes meanwhile registers it again.
      this.#state.keep({ registeredAt: 0 });
      await this.#write(deleteHub({ name: this.#state.now.name }));
    });
  }

  async setAlarm(): Promise<void> {
    const next = Date.now() + CHECK;
    // One further away was set by a clock that was ahead.
    if (((await this.#storage.getAlarm()) ?? Infinity) > next) await this.#storage.setAlarm(next);
  }

  async #write(statement: Statement<unknown>): Promise<void> {
    await new Session(this.#env.DB, undefined).writeRepeatably([statement]);
  }

  inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => {});
    return result;
  }
}
