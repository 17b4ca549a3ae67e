import { DurableObject } from "cloudflare:workers";
import { encodeEventCursor } from "../../feed/place.ts";
import { logFailure } from "../../log/failure.ts";
import { Ledger } from "./ledger.ts";
import { Reader } from "./reader.ts";
import { LONGEST_PAUSE, Run } from "./run.ts";
import { newSecret } from "./signing.ts";
import { Store } from "./store.ts";
import { Tests } from "./tests.ts";
import { deliveriesOf, type Page, stateOf } from "./view.ts";

const DAY = 24 * 3_600_000;

/** Milliseconds after a run that could not read the database. */
const PAUSE_AFTER_FAILURE = 5_000;
/** Milliseconds for which the secret before the newest signs too. */
const OLD_SECRET_LASTS = DAY;
/** Milliseconds for which the object of a deleted webhook remembers: a restore within 30 days may bring the webhook back (D1 documentation, Time Travel). */
const FORGOTTEN_AFTER = 31 * DAY;

/**
 * The engine of one webhook: it reads the feed from its place on, and delivers each event at least once. It holds the secret, the place
 * and the deliveries. The database holds the configuration.
 */
export class WebhookEndpoint extends DurableObject<Env> {
  readonly #store: Store;
  readonly #tests = new Tests();
  /** What the object has in memory. */
  #run: Run;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#store = new Store(state.storage);
    this.#run = this.#remember();
  }

  #remember(): Run {
    return new Run(new Ledger(this.#store), this.env);
  }

  /** The object knows its webhook from now on. */
  #known(name: string): Run {
    const { ledger } = this.#run;
    if (ledger.progress.name === "") {
      ledger.set({ name });
      ledger.record(Date.now());
      // Whatever made it, an alarm finds out whether its webhook is there.
      void this.#wake(Date.now() + LONGEST_PAUSE);
    }
    return this.#run;
  }

  async nudge(name: string): Promise<void> {
    await this.#wake(this.#known(name).nudge());
  }

  /** Tells that the configuration has changed. */
  async changed(name: string): Promise<void> {
    await this.#wake(this.#known(name).change());
  }

  async secret(name: string): Promise<string> {
    return this.#known(name).ledger.secrets.newest;
  }

  async rotate(name: string): Promise<string> {
    const { ledger } = this.#known(name);
    const previous = { secret: ledger.secrets.newest, until: Date.now() + OLD_SECRET_LASTS };
    ledger.era++;
    return ledger.keep({ newest: newSecret(), previous }).newest;
  }

  /**
   * Delivers the events after a place again, up to the present place of the webhook, which does not move.
   *
   * @param place which the feed has.
   * @returns the state, or that a replay runs already.
   */
  async replay(name: string, place: string) {
    const run = await this.#started(name);
    const { ledger } = run;
    if (ledger.replay !== undefined) return "replay_running" as const;
    if (place < ledger.main.place) ledger.replay = new Reader(place, ledger.main.place);
    await this.#record(run);
    return stateOf(ledger);
  }

  /**
   * Goes to a place, and drops every event that waits.
   *
   * @param place the end of the feed.
   * @returns the state with what was left out, or that a replay runs.
   */
  async skip(name: string, place: string) {
    const run = await this.#started(name);
    const { ledger } = run;
    const { main } = ledger;
    const { place: from } = main;
    const { isLost } = await run.look.ask([0]);
    if (ledger.replay !== undefined) return "replay_running" as const;
    // A place that the feed has lost stays: the next run tells the receiver.
    const isSkipped = !isLost && ledger.main === main;
    const to = place > from ? place : from;
    if (isSkipped) ledger.jump(to);
    await this.#record(run);
    const skipped = { from: encodeEventCursor(from), to: encodeEventCursor(to) };
    return { ...stateOf(ledger), ...(isSkipped && { skipped }) };
  }

  /** Ends the replay, if one runs, and drops those of its deliveries that wait. */
  async stopReplay(name: string): Promise<void> {
    this.#known(name).ledger.stopReplay();
    await this.#record(this.#known(name));
  }

  /** Records what a call has changed, and lets a run begin. */
  async #record(run: Run): Promise<void> {
    run.ledger.record(Date.now());
    await this.#wake(run.change());
  }

  /** @returns the outcome, or the seconds to wait while another test runs, or after too many in a minute. */
  async sendTest(name: string) {
    const run = this.#known(name);
    const outcome = await this.#tests.send(run.ledger, this.env);
    if (typeof outcome === "object") await this.#wake(run.change());
    return outcome;
  }

  async state(name: string) {
    return stateOf((await this.#started(name)).ledger);
  }

  async deliveries(name: string, page: Page) {
    const { ledger } = this.#known(name);
    ledger.record(Date.now());
    return deliveriesOf([...ledger.queue.rows], this.#store.finished(ledger.progress), page);
  }

  /** Never throws: after six retries, the platform would give up, and the alarm would be gone (workerd 1.20261023.1). */
  override async alarm(): Promise<void> {
    let next: number | undefined;
    try {
      const { ledger } = this.#run;
      const isKnown = ledger.progress.name !== "";
      const end = isKnown ? await this.#run.run() : undefined;
      next = end === "deleted" ? await this.#forget(ledger) : end;
    } catch (error) {
      next = Date.now() + PAUSE_AFTER_FAILURE;
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      logFailure({ webhook: this.#run.ledger.progress.name }, cause);
    } finally {
      await this.#wake(next);
    }
  }

  /** Without its row, an object stops, and forgets everything when no restore can bring the row back. */
  async #forget(ledger: Ledger): Promise<number | undefined> {
    const { progress } = ledger;
    const goneSince = progress.goneSince ?? Date.now();
    ledger.set({ goneSince });
    ledger.record(Date.now());
    const end = goneSince + FORGOTTEN_AFTER;
    if (!ledger.isNew && Date.now() < end) return end;
    await this.#store.forget();
    this.#run = this.#remember();
    return undefined;
  }

  /** An object that never started starts at the place of its row. */
  async #started(name: string): Promise<Run> {
    const run = this.#known(name);
    if (run.ledger.main.place !== "") return run;
    if ((await run.look.again([0, 0])) === "deleted") throw new Error("There is no such webhook");
    run.ledger.record(Date.now());
    return run;
  }

  /** Sets the alarm, unless it is earlier. 0, which a delivery may have, is refused (workerd 1.20261023.1). */
  async #wake(at: number | undefined): Promise<void> {
    if (at === undefined || at === Infinity) return;
    const time = Math.max(at, Date.now());
    const present = await this.ctx.storage.getAlarm();
    if (present === null || time < present) await this.ctx.storage.setAlarm(time);
  }
}
