import { Clock } from "./clock.ts";
import { pathTo } from "./d1.ts";
import { Database, type Execution } from "./database.ts";
import { Objects } from "./objects.ts";
import type { Program } from "./program.ts";
import { Random } from "./random.ts";
import type { Worker } from "./service.ts";
import type { Statement } from "./sqlite.ts";
// oxlint-disable-next-line import/no-unassigned-import -- adds what Node.js lacks
import "./workerd.ts";

const START = Date.parse("2026-11-22T00:00:00Z");
export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
/** Milliseconds of one way to the database, and between an object and a receiver and the disk, at most. */
const TO_DATABASE = 10;
const LATENCY = { way: 2, durable: 2 };
/** An isolate nudges a webhook once in this time. */
const BETWEEN_NUDGES = SECOND;
const HOST = "hook.shop.com";
const PLACE = "printf('%016x%08x', id, tag)";

/** A change of a resource, and its event. */
export interface Change {
  id: string;
  at: number;
  type: string;
  resource: number;
}

/** A request that a receiver got. */
export interface Post extends Pick<Change, "id" | "at" | "type" | "resource"> {
  name: string;
  /** When and how it ended for the receiver. Infinity while it is open. */
  end: number;
  status: number | undefined;
}

/** What a receiver does: after how many milliseconds, with which status, and with which `Retry-After`. Without a status, the connection is lost. */
export type Answer = readonly [after: number, status: number | undefined, retryAfter?: string];

class RecordingDatabase extends Database {
  /** With their times. */
  readonly statements: (Statement & { at: number })[] = [];
  now = () => START;

  override onPrimary(statements: readonly Statement[]): Execution {
    this.statements.push(...statements.map((statement) => ({ ...statement, at: this.now() })));
    return super.onPrimary(statements);
  }
}

/** The engine of webhooks alone in simulated time, without faults. A case scripts changes and receivers. */
export class Stage {
  readonly clock = new Clock(START);
  readonly random = new Random(1, "stage");
  readonly database = new RecordingDatabase(this.clock, this.random, 0);
  readonly objects: Objects;
  readonly posts: Post[] = [];
  readonly changes: Change[] = [];
  /** The errors of the deliveries that the log says to have failed. */
  readonly failed: { event: string; error: string | null }[] = [];
  /** The lines of errors in the log of the engine. */
  readonly errors: string[] = [];
  /** Calls of an object that tell it of new events. */
  nudges = 0;
  /** Milliseconds that the clock of the objects is ahead. */
  skew = 0;
  /** Whether calls to objects get lost. */
  isCut = false;
  answer: (post: Post) => Answer = () => [50, 204];
  readonly hours: number;
  /** One is picked for each life of an object. */
  readonly #versions: { name: string; program: Program<Worker> }[];
  readonly #nudgedAt = new Map<string, number>();

  /** @param hours of changes, in the cases that last long. */
  constructor(program: Program<Worker>, hours: number) {
    this.hours = hours;
    this.#versions = [{ name: "", program }];
    const { clock, database } = this;
    database.now = () => clock.now;
    const path = pathTo(database, clock, TO_DATABASE);
    this.objects = new Objects({
      clock,
      faults: { meets: () => false },
      random: (...names) => new Random(1, ...names),
      receivers: {
        receive: ({ name, body }) => this.#receive(name, body),
        hear: (_name, line) => this.#hear(line),
      },
      versions: this.#versions,
      variables: { ENVIRONMENT: "production" },
      path: () => path,
      onError: (line) => void this.errors.push(line),
      latency: LATENCY,
      skew: () => this.skew,
    });
  }

  get now(): number {
    return this.clock.now;
  }

  /** Ends every object. The next lives run one of these programs each. */
  release(...programs: Program<Worker>[]): void {
    this.#versions.splice(0, Infinity, ...programs.map((program) => ({ name: "", program })));
    this.objects.crash();
  }

  #receive(name: string, body: string) {
    const { id, type, data } = JSON.parse(body) as { id: string; type: string; data: { id: number } };
    const post: Post = { name, id, type, resource: data.id, at: this.now, end: Infinity, status: undefined };
    const [after, status, retryAfter] = this.answer(post);
    this.posts.push(post);
    const end = () => {
      Object.assign(post, { end: this.now, status });
      const headers = { ...(retryAfter !== undefined && { "Retry-After": retryAfter }) };
      return status === undefined ? undefined : new Response(null, { status, headers });
    };
    return { after, end, giveUp: () => {} };
  }

  #hear(line: string): void {
    const { message, event, error } = JSON.parse(line) as { message: string; event: string; error: string | null };
    if (message === "a delivery failed") this.failed.push({ event, error });
  }

  /** Runs statements of the service, which the count of statements leaves out. */
  rows = (sql: string, ...values: (string | number)[]) => this.database.primary.rows(sql, ...values);

  /** Creates a webhook at the end of the feed. Returns the name of its object. */
  hook({ host = HOST, types = ["pet.created", "pet.updated", "order.placed"] } = {}): string {
    const [row] = this.rows(
      `INSERT INTO webhooks (tag, url, types, created_by, created_at, place)
       SELECT random() & 4294967295, ?, ?, 'key_1', '', ${PLACE} FROM events ORDER BY id DESC LIMIT 1
       RETURNING id || '-' || tag AS name`,
      `https://${host}/`,
      JSON.stringify(types),
    );
    const name = String(row?.["name"]);
    this.tell(name);
    return name;
  }

  /** Changes the row of a webhook, and tells its object. */
  set(name: string, assignments: string): void {
    this.rows(`UPDATE webhooks SET ${assignments} WHERE id || '-' || tag = ?`, name);
    this.tell(name);
  }

  delete(name: string): void {
    this.rows("DELETE FROM webhooks WHERE id || '-' || tag = ?", name);
    this.tell(name);
  }

  tell(name: string): void {
    if (!this.isCut) void this.objects.call(name, "changed", [name]);
  }

  /** Commits changes in one transaction, and nudges the enabled webhooks as an isolate does. */
  change(changes: [type: string, resource: number][]): Change[] {
    const { now } = this;
    const events = changes.map(([type, resource]) => [type, JSON.stringify({ id: resource, name: "Rex" })]);
    const rows = this.rows(
      `INSERT INTO events (tag, type, version, data, created_at)
       SELECT random() & 4294967295, value ->> 0, 1, value ->> 1, ? FROM json_each(?) ORDER BY key
       RETURNING 'evt_' || ${PLACE} AS id`,
      new Date(now).toISOString(),
      JSON.stringify(events),
    );
    const ids = rows.map(({ id }) => String(id)).toSorted();
    const made = changes.map(([type, resource], index) => ({ id: ids[index] as string, at: now, type, resource }));
    for (const change of made) this.changes.push(change);
    for (const { name } of this.rows("SELECT id || '-' || tag AS name FROM webhooks WHERE enabled = 1"))
      this.#nudge(String(name));
    return made;
  }

  #nudge(name: string): void {
    if (this.isCut || this.now - (this.#nudgedAt.get(name) ?? 0) < BETWEEN_NUDGES) return;
    this.#nudgedAt.set(name, this.now);
    this.nudges++;
    void this.objects.call(name, "nudge", [name]);
  }

  /** Lets time pass, with so many changes a second on average. */
  async pass(milliseconds: number, perSecond = 0, next: () => [type: string, resource: number] = newPet()) {
    const end = this.now + milliseconds;
    const go = () => {
      const pause = (this.random.next() * 2 * SECOND) / perSecond;
      if (this.now + pause > end) return;
      this.clock.after(pause, () => {
        this.change([next()]);
        go();
      });
    };
    if (perSecond > 0) go();
    await this.clock.run(end);
  }

  /** Calls a method of an object, and lets a second pass. */
  async call<Result>(name: string, method: string, ...parameters: unknown[]): Promise<Result> {
    const answer = this.objects.call(name, method, [name, ...parameters]);
    await this.pass(SECOND);
    return (await answer) as Result;
  }

  /** When each event was first sent. */
  firstPosts(): Map<string, number> {
    const first = new Map<string, number>();
    for (const { id, at } of this.posts) if (!first.has(id)) first.set(id, at);
    return first;
  }

  /** The events that a receiver took, and how often. */
  taken(): Map<string, number> {
    const taken = new Map<string, number>();
    for (const { id, status } of this.posts) if (status === 204) taken.set(id, (taken.get(id) ?? 0) + 1);
    return taken;
  }

  close(): void {
    this.objects.close();
    this.database.close();
  }
}

/** Changes that are creations, each of an animal of its own. */
export function newPet(): () => [type: string, resource: number] {
  let id = 1_000_000;
  return () => ["pet.created", ++id];
}
