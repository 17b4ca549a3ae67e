import { Session } from "../db/session.ts";
import type { Statement } from "../db/statement.ts";
import { deleteHub, insertHub } from "./statements.ts";

/** Milliseconds between two checks of the listeners. */
const CHECK = 60_000;

/** The row of a hub, which tells isolates to nudge it, and the alarm that goes with it. Its changes come one after the other. */
export class Registration {
  readonly #name: string;
  readonly #database: D1Database;
  readonly #storage: DurableObjectStorage;
  readonly #onNew: () => void;
  /** Whether isolates know the row, or will soon. */
  isKnown: boolean;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param onNew isolates may not know the row yet. */
  constructor(
    name: string,
    { DB }: Env,
    { storage }: Pick<DurableObjectState, "storage">,
    isKnown: boolean,
    onNew: () => void,
  ) {
    [this.#name, this.#database, this.#storage, this.isKnown, this.#onNew] = [name, DB, storage, isKnown, onNew];
  }

  /** A hub is registered for as long as it has listeners, before the first is answered. */
  begin(): Promise<void> {
    return this.#inTurn(async () => {
      if (!this.isKnown) await this.renew();
      await this.setAlarm();
    });
  }

  /** Inserts the row, unless it is there. A restore of the database may have removed it. */
  async renew(): Promise<void> {
    const inserted = await this.#write(insertHub({ name: this.#name }));
    if (this.isKnown && inserted.length === 0) return;
    this.isKnown = true;
    this.#onNew();
  }

  /** @param isOver whether nobody has come meanwhile. */
  end(isOver: () => boolean): Promise<void> {
    return this.#inTurn(async () => {
      if (!isOver()) return;
      // First: whoever comes meanwhile registers it again.
      this.isKnown = false;
      await this.#write(deleteHub({ name: this.#name }));
    });
  }

  async setAlarm(): Promise<void> {
    if ((await this.#storage.getAlarm()) === null) await this.#storage.setAlarm(Date.now() + CHECK);
  }

  async #write<Row>(statement: Statement<Row>): Promise<Row[]> {
    const [rows] = await new Session(this.#database, undefined).writeRepeatably<[Row]>([statement]);
    return rows;
  }

  #inTurn(step: () => Promise<void>): Promise<void> {
    const result = this.#turn.then(step);
    this.#turn = result.catch(() => {});
    return result;
  }
}
