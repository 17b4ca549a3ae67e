import { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import type { State } from "./state.ts";
import { deleteHub, insertHub } from "./statements.ts";

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
      if (this.#state.now.registeredAt === 0) await this.renew();
      await this.setAlarm();
    });
  }

  /** Inserts the row, unless it is there. A restore of the database may have removed it. */
  async renew(): Promise<void> {
    const [[isNew]] = await this.#write(insertHub({ name: this.#state.now.name }));
    if (isNew === undefined && this.#state.now.registeredAt > 0) return;
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
    if ((await this.#storage.getAlarm()) === null) await this.#storage.setAlarm(Date.now() + CHECK);
  }

  #write<Row>(statement: Statement<Row>): Promise<[Row[]]> {
    return new Session(this.#env.DB, undefined).writeRepeatably([statement]);
  }

  inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => {});
    return result;
  }
}
