import { DurableObject } from "cloudflare:workers";
import { and, eq, sql } from "drizzle-orm";
import { Session } from "../../db/session.ts";
import { compile, type Parameter } from "../../db/statement.ts";
import type { Int64 } from "../../exact/int64.ts";
import { beginAt, encodeEventCursor, placeAt, selectEnd, selectOnward } from "../../feed/place.ts";
import { webhooks } from "../table.ts";
import { deliver, messageBody, messageId } from "./delivery.ts";
import {
  dueAt,
  isFailing,
  isSuccess,
  MAX_ATTEMPTS,
  nextAttempt,
  nextProbe,
  type Outcome,
  type Queue,
  type Waiting,
} from "./schedule.ts";
import { newSecret } from "./signing.ts";
import { eventId, type Progress, type Secrets, Store } from "./store.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;
const DAY = 24 * HOUR;

/** Milliseconds from a run to the next one, at most. It repairs a lost nudge. */
const LONGEST_PAUSE = 60 * SECOND;
/** Milliseconds from a read of the feed to the next one, at least. */
const SHORTEST_PAUSE = SECOND;
/** Milliseconds after a run that could not read the database. */
const PAUSE_AFTER_FAILURE = 5 * SECOND;
/** Milliseconds of a run in which deliveries that wait are attempted, and in which any attempt starts. */
const WAITING_FIRST = 30 * SECOND;
const LONGEST_RUN = 60 * SECOND;
/** Events of one read of the feed. */
const READ = 100;
/** Events that one transaction records. A crash repeats one wave at most. */
export const WAVE = 16;
export const MAX_PENDING = 1_000;
const MAX_AT_ONCE = 4;
/** Attempts after which a delivery may be given up to make room. */
const ATTEMPTS_BEFORE_SHEDDING = 4;
/** Milliseconds for which a reset goes before every other delivery. */
const RESET_GOES_FIRST = HOUR;
/** Milliseconds for which the secret before the newest signs too. */
const OLD_SECRET_LASTS = DAY;
/** Milliseconds for which the object of a deleted webhook remembers: a restore of the database within 30 days may bring the webhook back. */
export const FORGOTTEN_AFTER = 31 * DAY;

const RESET = "feed.reset";
const GONE = 410;

interface Webhook {
  id: Int64;
  tag: number;
}

const isThis = (parameter: Parameter<Webhook>) =>
  and(eq(webhooks.id, sql`${parameter("id")}`), eq(webhooks.tag, sql`${parameter("tag")}`));

const selectConfiguration = compile((db, parameter: Parameter<Webhook>) =>
  db
    .select({ url: webhooks.url, types: webhooks.types, enabled: webhooks.enabled, place: webhooks.place })
    .from(webhooks)
    .where(isThis(parameter)),
);

/** Disables a webhook whose receiver is gone, unless it has another address by now. */
const disable = compile((db, parameter: Parameter<Webhook & { url: string }>) =>
  db
    .update(webhooks)
    .set({ enabled: 0, disabledReason: "gone", version: sql`${webhooks.version} + 1` })
    .where(and(isThis(parameter), eq(webhooks.url, parameter("url")), eq(webhooks.enabled, 1)))
    .returning({ disabled: sql<1>`1`.as("disabled") }),
);

/** The state of a webhook as clients see it. */
export interface WebhookState {
  health: "ok" | "failing";
  pending: number;
  cursor: string;
  lastSuccessAt?: string;
  nextAttemptAt?: string;
  resets: number;
  /** The replay that runs. */
  replay?: { cursor: string; end: string };
  /** What a replay to the end of the feed skips. */
  skipped?: { from: string; to: string };
}

/** The outcome of a test as clients see it. */
interface TestOutcome {
  response?: number;
  error?: "timeout" | "connection";
  milliseconds: number;
}

/** A delivery as clients see it. */
export interface Delivery {
  event: string;
  type: string;
  status: "pending" | "delivered" | "failed";
  attempts: number;
  lastAttemptAt?: string;
  nextAttemptAt?: string;
  response?: number;
  error?: "timeout" | "connection" | "no_room";
  replay?: true;
}

/** An event that the feed has after the place. */
interface NewEvent {
  place: string;
  type: string;
  resource: string;
  body: string;
}

/** An attempt to make. */
interface Attempt {
  row: Waiting;
  body: string;
  /** Whether it is the first one, before the event is stored. */
  isNew: boolean;
  /** Whether it asks if an endpoint works that failed. */
  isProbe: boolean;
  /** Whether it counts for its event, and moves the time of its next attempt. */
  counts: boolean;
}

/** What the transaction after a wave records of a delivery. */
interface Result {
  row: Waiting;
  /** The body of a delivery that is not stored yet. */
  newBody: string | undefined;
  status: "pending" | "delivered" | "failed";
}

/** The attempts that run, by their resource. */
type Running = Map<string, Promise<void>>;

/** One run of the alarm. */
interface Run {
  begin: number;
  url: string;
  types: Set<unknown>;
  generation: number;
  queue: Queue;
  /** The deliveries that waited and were attempted in this run. */
  attempted: Set<string>;
  /** Whether the place has moved. */
  hasRead: boolean;
  /** Whether the receiver said that it is gone. */
  isGone: boolean;
  /** The last failure, for the log. */
  failure: Result | undefined;
}

/** The webhook of the name of an object. */
function webhookOf(name: string): Webhook {
  const [id = "", tag = ""] = name.split("-");
  return { id: id as Int64, tag: Number(tag) };
}

const NEVER_ATTEMPTED = { attempts: 0, firstFailureAt: null, lastAttemptAt: null, response: null, error: null };

const toTime = (milliseconds: number) => new Date(milliseconds).toISOString();

/**
 * The engine of one webhook: it reads the feed from its place on, and delivers each event at least once. It holds the secret, the place
 * and the deliveries. The database holds the configuration.
 */
export class WebhookEndpoint extends DurableObject<Env> {
  readonly #store: Store;
  #progress: Progress | undefined;
  /** Whether the present run starts no further attempt. */
  #isStopped = false;
  /** When the feed was last read. */
  #readAt = 0;
  /** Whether a nudge came since then. */
  #isNudged = false;

  constructor(state: DurableObjectState, env: Env) {
    super(state, env);
    this.#store = new Store(state.storage);
    this.#progress = this.#store.progress();
  }

  /** Tells that the feed has a new event. */
  async nudge(name: string): Promise<void> {
    this.#known(name);
    this.#isNudged = true;
    await this.#wake(this.#readAt + SHORTEST_PAUSE);
  }

  /** Tells that the configuration has changed. */
  async changed(name: string): Promise<void> {
    this.#known(name);
    this.#isStopped = true;
    await this.#wake(0);
  }

  /** The newest secret. */
  async secret(name: string): Promise<string> {
    this.#known(name);
    return this.#secrets().newest;
  }

  /** Makes a new secret, and returns it. */
  async rotate(name: string): Promise<string> {
    this.#known(name);
    const { newest: secret } = this.#secrets();
    const newest = newSecret();
    this.#store.saveSecrets({ newest, previous: { secret, until: Date.now() + OLD_SECRET_LASTS } });
    return newest;
  }

  /** Goes on from the end of the feed, and drops what waits. */
  async skip(name: string, place: string): Promise<WebhookState | "replay_running"> {
    const { cursor: from } = await this.state(name);
    const state = await this.replay(name, place, true);
    if (state === "replay_running") return state;
    return { ...state, skipped: { from, to: state.cursor } };
  }

  async stopReplay(name: string): Promise<void> {
    this.#known(name);
  }

  /**
   * Sets the place: later events are delivered again.
   *
   * @param place which the feed has.
   * @param isLatest whether to drop everything that waits. Otherwise only what comes after the place, and therefore again.
   */
  async replay(name: string, place: string, isLatest = false): Promise<WebhookState | "replay_running"> {
    const progress = this.#known(name);
    this.#store.transaction(() => {
      this.#store.removeAfter(isLatest ? "" : place);
      this.#jump(progress, place);
      this.#store.save(progress);
    });
    await this.#wake(0);
    return this.state(name);
  }

  /** Sends a `webhook.test`, with or without success. */
  async sendTest(name: string): Promise<TestOutcome | "busy"> {
    const progress = this.#known(name);
    const { url } = await this.#configuration(progress);
    const id = messageId();
    const begin = Date.now();
    const body = messageBody(id, "webhook.test", {});
    const outcome = await deliver(url, { id, body }, this.#signing(), this.env);
    const milliseconds = Date.now() - begin;
    if (isSuccess(outcome) && isFailing(progress)) {
      this.#endHold(progress);
      this.#store.save(progress);
      await this.#wake(0);
    }
    const { response, error } = outcome;
    return { ...(response !== undefined && { response }), ...(error !== undefined && { error }), milliseconds };
  }

  async state(name: string): Promise<WebhookState> {
    const progress = this.#known(name);
    if (progress.place === "") await this.#configuration(progress);
    const { place, lastSuccessAt, resets } = progress;
    const queue = this.#store.queue();
    const next = progress.enabled ? this.#nextAttempt(progress, queue) : Infinity;
    return {
      health: isFailing(progress) ? "failing" : "ok",
      pending: queue.rows.size,
      cursor: encodeEventCursor(place),
      ...(lastSuccessAt !== null && { lastSuccessAt: toTime(lastSuccessAt) }),
      ...(next !== Infinity && { nextAttemptAt: toTime(next) }),
      resets,
    };
  }

  /**
   * The deliveries that are known, the newest first: those that wait, and then those that finished.
   *
   * @param after the position that precedes the page.
   * @returns a page, and the position of its last delivery if there are more.
   */
  async deliveries(
    name: string,
    { limit, after, status }: { limit: number; after?: string | undefined; status?: Delivery["status"] | undefined },
  ): Promise<{ deliveries: Delivery[]; next: string | undefined }> {
    const all = this.#allDeliveries(name).filter(
      ({ position, delivery }) =>
        (after === undefined || position < after) && (status === undefined || delivery.status === status),
    );
    const page = all.slice(0, limit);
    return {
      deliveries: page.map(({ delivery }) => delivery),
      next: all.length > limit ? page.at(-1)?.position : undefined,
    };
  }

  #allDeliveries(name: string): { position: string; delivery: Delivery }[] {
    this.#known(name);
    const waiting = [...this.#store.queue().rows.values()].toReversed();
    return [
      ...waiting.map((row) => {
        const delivery = deliveryOf({ ...row, event: eventId(row.key), status: "pending" });
        return { position: `p${row.key}`, delivery: { ...delivery, nextAttemptAt: toTime(row.nextAttemptAt) } };
      }),
      ...this.#store.finished().map((row) => ({
        position: `f${String(row.number).padStart(16, "0")}`,
        delivery: deliveryOf(row),
      })),
    ];
  }

  /** Never throws: after six retries, the platform would give up, and the alarm would be gone. */
  override async alarm(): Promise<void> {
    let next: number | undefined;
    try {
      next = await this.#run();
    } catch (error) {
      next = Date.now() + PAUSE_AFTER_FAILURE;
      // What is only in memory is lost, as after a crash.
      Object.assign(this.#progress ?? {}, this.#store.progress());
      const cause = error instanceof Error ? (error.cause ?? error) : error;
      const { name, message, stack } = cause instanceof Error ? cause : new Error(String(cause));
      console.error(JSON.stringify({ level: "error", webhook: this.#progress?.name, name, message, stack }));
    } finally {
      if (next !== undefined) await this.#wake(next);
    }
  }

  /** The progress of an object that knows its webhook from now on. */
  #known(name: string): Progress {
    return (this.#progress ??= this.#store.begin(name));
  }

  /** The object makes its secret when it is first needed. */
  #secrets(): Secrets {
    const known = this.#store.secrets();
    if (known !== undefined) return known;
    const secrets = { newest: newSecret() };
    this.#store.saveSecrets(secrets);
    return secrets;
  }

  /** The secrets that sign now, the newest first. */
  #signing(): string[] {
    const { newest, previous } = this.#secrets();
    return previous !== undefined && Date.now() < previous.until ? [newest, previous.secret] : [newest];
  }

  /** Sets the alarm, unless it is earlier. The platform refuses a time that is past. */
  async #wake(at: number): Promise<void> {
    const time = Math.max(at, Date.now());
    const present = await this.ctx.storage.getAlarm();
    if (present === null || time < present) await this.ctx.storage.setAlarm(time);
  }

  /**
   * The row in the database. An object that never started starts at its place.
   *
   * @throws Error when there is none.
   */
  async #configuration(progress: Progress) {
    const session = new Session(this.env.DB, undefined);
    const [row] = await session.readFromPrimary(selectConfiguration(webhookOf(progress.name)));
    if (row === undefined) throw new Error("There is no such webhook");
    this.#start(progress, row.place);
    return row;
  }

  #start(progress: Progress, place: string): void {
    if (progress.place !== "") return;
    progress.place = progress.highest = place;
    this.#store.save(progress);
  }

  #jump(progress: Progress, place: string): void {
    progress.place = place;
    // Otherwise it stays until a run has seen that the feed still has it.
    progress.highest ||= place;
    progress.generation++;
  }

  /** Makes everything due. */
  #endHold(progress: Progress): void {
    progress.failures = 0;
    progress.probes = 0;
    // What the receiver asked for in this hold is no matter of the next one.
    progress.probeAt = 0;
    progress.heldUntil = Date.now();
  }

  /**
   * One run: what waits and is due, and then the new events.
   *
   * @returns when the next run is due. Undefined for none.
   */
  async #run(): Promise<number | undefined> {
    const progress = this.#progress;
    if (progress === undefined) return undefined;
    const webhook = webhookOf(progress.name);
    this.#isStopped = false;
    const session = new Session(this.env.DB, undefined);
    if (progress.place === "") {
      const [row] = await session.readFromPrimary(selectConfiguration(webhook));
      if (row === undefined) return this.#forget(progress);
      this.#start(progress, row.place);
    }

    const { generation, highest } = progress;
    const place = placeAt(progress.place);
    const isNudged = this.#isNudged;
    this.#isNudged = false;
    // One transaction: no restore comes in between.
    const [[row], events, [newest]] = await session.writeRepeatably([
      selectConfiguration(webhook),
      selectOnward({ id: place.id, limit: READ + 1 }),
      selectOnward({ id: placeAt(highest).id, limit: 1 }),
    ] as const);
    this.#readAt = Date.now();
    if (row === undefined) return this.#forget(progress);
    if (!this.#sees(progress, row)) return undefined;
    // A replay came meanwhile.
    if (progress.generation !== generation) return this.#readAt;
    const isLost = !beginAt(events, place) || newest?.place !== highest;
    if (isLost) await this.#reset(progress, session);
    else if (place.text > highest) {
      progress.highest = place.text;
      this.#store.save(progress);
    }

    const types = new Set<unknown>(JSON.parse(row.types));
    const run: Run = {
      begin: Date.now(),
      url: row.url,
      types,
      generation: progress.generation,
      queue: this.#store.queue(),
      attempted: new Set(),
      hasRead: false,
      isGone: false,
      failure: undefined,
    };
    this.#tidy(progress, run);
    try {
      await this.#attemptWaiting(progress, run);
      // After a reset, these events are those of a place that is gone.
      if (!isLost) await this.#readOn(progress, run, events.slice(1));
      if (run.isGone && (await this.#disable(progress, session, run))) return undefined;
    } finally {
      if (run.failure !== undefined) log("a delivery did not succeed", progress, run.failure);
    }
    if (this.#isStopped || progress.generation !== run.generation) return Date.now();
    // A nudge without an event may have swallowed the next one, because an isolate nudges once a second.
    const pause = run.hasRead || isNudged ? SHORTEST_PAUSE : LONGEST_PAUSE;
    const next = Math.min(Date.now() + pause, this.#nextAttempt(progress, run.queue));
    return Math.max(next, this.#readAt + SHORTEST_PAUSE);
  }

  /** Remembers the configuration. Returns whether the webhook is enabled. */
  #sees(progress: Progress, { url, enabled }: { url: string; enabled: number }): boolean {
    const isEnabled = enabled === 1;
    if (url === progress.url && isEnabled === progress.enabled && progress.goneSince === null) return isEnabled;
    // Another receiver, or one that is back: what waits is due.
    if (isEnabled && progress.url !== "") this.#endHold(progress);
    Object.assign(progress, { url, enabled: isEnabled, goneSince: null });
    this.#store.save(progress);
    return isEnabled;
  }

  /** Without its row, an object stops, and forgets everything when no restore can bring the row back. */
  async #forget(progress: Progress): Promise<number | undefined> {
    if (progress.goneSince === null) {
      progress.goneSince = Date.now();
      this.#store.save(progress);
    }
    const end = progress.goneSince + FORGOTTEN_AFTER;
    if (Date.now() < end) return end;
    await this.#store.forget();
    this.#progress = undefined;
    return undefined;
  }

  /**
   * Goes to the present end of the feed, after it lost the place. A `feed.reset` tells the receiver to list everything with a bookmark
   * that has seen this end.
   */
  async #reset(progress: Progress, session: Session): Promise<void> {
    const [end] = await session.readFromPrimary(selectEnd({}));
    if (end === undefined) throw new Error("The feed is empty");
    const now = Date.now();
    const id = messageId();
    const data = { cursor: encodeEventCursor(end.place), bookmark: session.usage.bookmark };
    const row: Waiting = { ...NEVER_ATTEMPTED, key: id, type: RESET, resource: id, nextAttemptAt: now };
    this.#store.transaction(() => {
      this.#store.removeAll();
      this.#store.add(row, messageBody(id, RESET, data));
      this.#jump(progress, end.place);
      // It may be lower: this is another history.
      progress.highest = end.place;
      progress.resets++;
      progress.resetAt = now;
      this.#store.save(progress);
    });
  }

  /** Drops events of types that were removed, and notes which resources have lost their order, or have it again. */
  #tidy(progress: Progress, { queue, types }: Run): void {
    const unwanted = [...queue.rows.values()].filter(({ type }) => type !== RESET && !types.has(type));
    for (const { key } of unwanted) queue.rows.delete(key);
    // A hold is no time in which the order can end.
    const ends = isFailing(progress) ? [] : [...queue.orderEnds(progress)];
    const ended = ends.filter(([, end]) => end <= Date.now()).map(([resource]) => resource);
    const finished = queue.finished();
    if (unwanted.length + ended.length + finished.length === 0) return;
    this.#store.transaction(() => {
      for (const { key } of unwanted) this.#store.remove(key);
      for (const resource of ended) this.#store.setUnordered(resource, true);
      for (const resource of finished) this.#store.setUnordered(resource, false);
    });
    for (const resource of ended) queue.unordered.add(resource);
    for (const resource of finished) queue.unordered.delete(resource);
  }

  /** Whether the run may start attempts, so many milliseconds after its begin at most. */
  #mayStart(progress: Progress, { begin, generation }: Run, milliseconds: number): boolean {
    return !this.#isStopped && progress.generation === generation && Date.now() < begin + milliseconds;
  }

  /** Attempts what waits and is due, or one probe. */
  async #attemptWaiting(progress: Progress, run: Run): Promise<void> {
    for (;;) {
      let started = 0;
      const results = await this.#attemptAll(progress, run, (running) => {
        const attempt = started < WAVE ? this.#pick(progress, run, running) : undefined;
        if (attempt !== undefined) started++;
        return attempt;
      });
      if (results.length === 0) return;
      this.#record(progress, run, results);
    }
  }

  /** The delivery that waits and is attempted next, if any. */
  #pick(progress: Progress, run: Run, running: Running): Attempt | undefined {
    if (!this.#mayStart(progress, run, WAITING_FIRST)) return undefined;
    const { queue, attempted } = run;
    const now = Date.now();
    const isProbe = isFailing(progress);
    if (isProbe && (running.size > 0 || now < progress.probeAt)) return undefined;
    const reset = goesFirst(progress, queue);
    const row = (reset === undefined ? queue.free() : [reset]).find(
      (row) => !attempted.has(row.key) && !running.has(row.resource) && (isProbe || dueAt(row, progress) <= now),
    );
    const body = row && this.#store.body(row.key);
    if (row === undefined || body === undefined) return undefined;
    attempted.add(row.key);
    return { row, body, isNew: false, isProbe, counts: !isProbe && row.nextAttemptAt <= now };
  }

  /** Delivers new events, as far as there is room for those that fail. The feed keeps the rest. */
  async #readOn(progress: Progress, run: Run, events: NewEvent[]): Promise<void> {
    let rest = events;
    while (rest.length > 0 && this.#mayRead(progress, run)) {
      const wave: NewEvent[] = [];
      let count = 0;
      for (; count < rest.length && wave.length < WAVE; count++) {
        const event = rest[count] as NewEvent;
        if (run.types.has(event.type)) wave.push(event);
      }
      const results = await this.#deliverNew(progress, run, wave);
      this.#record(progress, run, results, rest[count - 1]?.place);
      run.hasRead = true;
      rest = rest.slice(count);
    }
  }

  #mayRead(progress: Progress, run: Run): boolean {
    if (!this.#mayStart(progress, run, LONGEST_RUN) || goesFirst(progress, run.queue) !== undefined) return false;
    if (!isFailing(progress)) {
      // First attempts start in the order of the feed.
      if (run.queue.free().some(({ lastAttemptAt }) => lastAttemptAt === null)) return false;
      this.#shed(progress, run);
    }
    return MAX_PENDING - run.queue.rows.size >= WAVE;
  }

  /** Gives up deliveries that failed often, to make room for a wave: they must not stop all others for days. */
  #shed(progress: Progress, run: Run): void {
    const missing = WAVE - (MAX_PENDING - run.queue.rows.size);
    if (missing <= 0) return;
    const given = [...run.queue.rows.values()]
      .filter(({ type, attempts }) => type !== RESET && attempts >= ATTEMPTS_BEFORE_SHEDDING)
      .toSorted((a, b) => b.attempts - a.attempts)
      .slice(0, missing);
    for (const { key } of given) run.queue.rows.delete(key);
    this.#record(
      progress,
      run,
      given.map((row) => ({ row, newBody: undefined, status: "failed" })),
    );
  }

  /** The first attempts of a wave of events, in their order. Those that cannot start now wait. */
  async #deliverNew(progress: Progress, run: Run, wave: NewEvent[]): Promise<Result[]> {
    const { queue } = run;
    const waiting: Result[] = [];
    let index = 0;
    let isHeld = false;
    const results = await this.#attemptAll(progress, run, (running) => {
      for (; index < wave.length; index++) {
        const { place: key, type, resource, body } = wave[index] as NewEvent;
        // It lasts for the wave: after an event that was left out, no later one starts.
        isHeld ||= isFailing(progress) || !this.#mayStart(progress, run, LONGEST_RUN);
        if (!isHeld && running.has(resource)) return undefined;
        const row: Waiting = { ...NEVER_ATTEMPTED, key, type, resource, nextAttemptAt: Date.now() };
        if (!isHeld && !queue.blocks(resource)) {
          index++;
          return { row, body, isNew: true, isProbe: false, counts: true };
        }
        queue.rows.set(key, row);
        waiting.push({ row, newBody: body, status: "pending" });
      }
      return undefined;
    });
    return [...results, ...waiting];
  }

  /**
   * Attempts what `next` returns, at most four at once, and never two of one resource.
   *
   * @param next is asked again after each attempt that ends. Undefined when nothing may start now.
   */
  async #attemptAll(progress: Progress, run: Run, next: (running: Running) => Attempt | undefined): Promise<Result[]> {
    const results: Result[] = [];
    const running: Running = new Map();
    const attempt = async (one: Attempt) => {
      const { key, resource } = one.row;
      const outcome = await deliver(run.url, { id: eventId(key), body: one.body }, this.#signing(), this.env);
      running.delete(resource);
      results.push(this.#settle(progress, run, one, outcome));
    };
    for (;;) {
      const one = running.size < MAX_AT_ONCE ? next(running) : undefined;
      if (one !== undefined) running.set(one.row.resource, attempt(one));
      else if (running.size === 0) return results;
      else await Promise.race(running.values());
    }
  }

  /** What an attempt means for its delivery, and for the health of the endpoint. */
  #settle(progress: Progress, run: Run, { row, body, isNew, isProbe, counts }: Attempt, outcome: Outcome): Result {
    const now = Date.now();
    const newBody = isNew ? body : undefined;
    row.lastAttemptAt = now;
    row.response = outcome.response ?? null;
    row.error = outcome.error ?? null;
    if (isSuccess(outcome)) {
      row.attempts = Math.min(row.attempts + 1, MAX_ATTEMPTS);
      progress.lastSuccessAt = now;
      if (isFailing(progress)) this.#endHold(progress);
      progress.failures = 0;
      run.queue.rows.delete(row.key);
      return { row, newBody, status: "delivered" };
    }
    if (outcome.response === GONE) run.isGone = this.#isStopped = true;
    if (isProbe) progress.probes++;
    else progress.failures++;
    if (isFailing(progress)) {
      progress.probeAt = Math.max(progress.probeAt, nextProbe(progress.probes, now, outcome.retryAfter));
    }
    row.firstFailureAt ??= now;
    if (counts) row.attempts++;
    const hasFailed = row.attempts >= MAX_ATTEMPTS;
    if (counts && !hasFailed) row.nextAttemptAt = nextAttempt(row.attempts, now, outcome.retryAfter);
    if (hasFailed) run.queue.rows.delete(row.key);
    else run.queue.rows.set(row.key, row);
    return (run.failure = { row, newBody, status: hasFailed ? "failed" : "pending" });
  }

  /**
   * Records a wave in one transaction.
   *
   * @param place of its last event, for new events. After a jump of the place, they stay in the feed unless they finished.
   */
  #record(progress: Progress, run: Run, results: Result[], place?: string): void {
    const isCurrent = progress.generation === run.generation;
    const after = { ...progress };
    if (isCurrent && place !== undefined) {
      after.place = place;
      if (place > after.highest) after.highest = place;
    }
    const ordered = run.queue.finished();
    this.#store.transaction(() => {
      for (const { row, newBody, status } of results) {
        if (status !== "pending") {
          if (newBody === undefined) this.#store.remove(row.key);
          const lastAttemptAt = row.lastAttemptAt ?? Date.now();
          this.#store.finish({ ...row, event: eventId(row.key), status, lastAttemptAt, number: after.finished++ });
        } else if (newBody === undefined) this.#store.update(row);
        else if (isCurrent) this.#store.add(row, newBody);
      }
      for (const resource of ordered) this.#store.setUnordered(resource, false);
      this.#store.save(after);
    });
    Object.assign(progress, after);
    for (const resource of ordered) run.queue.unordered.delete(resource);
    for (const result of results) {
      if (result.status === "failed") log("a delivery failed", progress, result);
    }
  }

  /** Disables the webhook after a 410. Returns whether its address is still the one that is gone. */
  async #disable(progress: Progress, session: Session, { url }: Run): Promise<boolean> {
    const [[disabled]] = await session.writeOnce([disable({ ...webhookOf(progress.name), url })]);
    if (disabled === undefined) return false;
    progress.enabled = false;
    this.#store.save(progress);
    return true;
  }

  /** When the next attempt of a delivery that waits may start. Infinity when none waits. */
  #nextAttempt(progress: Progress, queue: Queue): number {
    if (queue.rows.size === 0) return Infinity;
    if (isFailing(progress)) return progress.probeAt;
    const reset = goesFirst(progress, queue);
    if (reset !== undefined) return Math.min(dueAt(reset, progress), progress.resetAt + RESET_GOES_FIRST);
    return Math.min(...queue.free().map((row) => dueAt(row, progress)), ...queue.orderEnds(progress).values());
  }
}

/** The `feed.reset` that goes before all others, if there is one. */
function goesFirst({ resetAt }: Progress, { rows }: Queue): Waiting | undefined {
  if (Date.now() >= resetAt + RESET_GOES_FIRST) return undefined;
  return [...rows.values()].find(({ type }) => type === RESET);
}

/** A null is absent. */
function deliveryOf({
  event,
  type,
  status,
  attempts,
  lastAttemptAt,
  response,
  error,
}: Pick<Delivery, "event" | "type" | "status" | "attempts"> &
  Pick<Waiting, "lastAttemptAt" | "response" | "error">): Delivery {
  const delivery: Delivery = { event, type, status, attempts };
  if (lastAttemptAt !== null) delivery.lastAttemptAt = toTime(lastAttemptAt);
  if (response !== null) delivery.response = response;
  if (error !== null) delivery.error = error;
  return delivery;
}

/** Neither the address nor a body: both may hold secrets of the receiver. */
function log(message: string, { name: webhook }: Progress, { row }: Result): void {
  const { key, response, error, attempts } = row;
  console.warn(JSON.stringify({ level: "warn", message, webhook, event: eventId(key), response, error, attempts }));
}
