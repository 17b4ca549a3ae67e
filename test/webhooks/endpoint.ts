import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { afterEach, beforeEach, vi } from "vitest";
import { see } from "../support/contract.ts";
import type { WebhookEndpoint } from "../../src/webhooks/engine/endpoint.ts";

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const URL_OF_RECEIVER = "https://hooks.shop.com/pets";
const START = Date.parse("2031-01-01T00:00:00.000Z");

/** A request that the receiver got. */
export interface Received {
  at: number;
  url: string;
  init: RequestInit;
  id: string;
  type: string;
  resource: number;
  version: number;
  body: string;
}

type Answer = (received: Received) => number | Response | Error | Promise<number | Response | Error>;

/** What the receiver got, in the order of the starts of the attempts. */
export let received: Received[];
let answer: Answer;
/** Attempts that run at the same time, at most. */
export let atOnce: number;
export let lines: string[];

/** Sets how the receiver responds. A number is a status, an error a lost connection. */
export function respond(next: Answer): void {
  answer = next;
}

/** Replaces `fetch` by a receiver, for every test of the file. The clock is years ahead, so that no real alarm fires. */
export function useReceiver(): void {
  beforeEach(async () => {
    // Webhooks of one host share a budget.
    await env.DB.exec("DELETE FROM webhooks");
    vi.useFakeTimers({ toFake: ["Date"], now: START });
    received = [];
    lines = [];
    atOnce = 0;
    let running = 0;
    answer = () => 204;
    vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init = {}) => {
      const body = init.body as string;
      const { type, version, data } = JSON.parse(body);
      const id = new Headers(init.headers).get("webhook-id") ?? "";
      const one = { at: Date.now(), url: input as string, init, id, type, version, resource: data.id, body };
      received.push(one);
      atOnce = Math.max(atOnce, ++running);
      try {
        const response = await answer(one);
        if (response instanceof Error) throw response;
        return typeof response === "number" ? new Response(null, { status: response }) : response;
      } finally {
        running--;
      }
    });
    for (const method of ["log", "warn", "error"] as const)
      vi.spyOn(console, method).mockImplementation((line: unknown) => void lines.push(String(line)));
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.useRealTimers();
  });
}

export function forget(): void {
  received = [];
}

/** Moves the clock. */
export const pass = (milliseconds: number) => vi.setSystemTime(Date.now() + milliseconds);

const ALL_TYPES = ["pet.created", "pet.updated", "pet.deleted", "order.placed"];

/** A webhook of the database, with its object. */
export class Hook {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }

  get stub(): DurableObjectStub<WebhookEndpoint> {
    return env.WEBHOOKS.getByName(this.name);
  }

  /** Changes the row. */
  async set(assignments: string, ...values: unknown[]): Promise<void> {
    const statement = env.DB.prepare(`UPDATE webhooks SET ${assignments} WHERE id || '-' || tag = ?`);
    await statement.bind(...values, this.name).run();
    await this.stub.changed(this.name);
  }

  async row(): Promise<Record<string, unknown> | null> {
    return env.DB.prepare("SELECT * FROM webhooks WHERE id || '-' || tag = ?").bind(this.name).first();
  }

  /** The time of the alarm, in milliseconds from now. */
  async alarm(): Promise<number | undefined> {
    return runInDurableObject(this.stub, async (_object, { storage }) => {
      const time = await storage.getAlarm();
      return time === null ? undefined : time - Date.now();
    });
  }

  /** Runs the alarm now, whenever it is due. */
  async run(): Promise<void> {
    await this.stub.nudge(this.name);
    await runDurableObjectAlarm(this.stub);
  }

  /** Lets the time pass, and runs each alarm when it is due: all in one call, which takes as long as an alarm. */
  async pass(milliseconds: number): Promise<void> {
    const end = Date.now() + milliseconds;
    await runInDurableObject(this.stub, async (object, { storage }) => {
      for (let time; (time = (await storage.getAlarm()) ?? Infinity) <= end;) {
        vi.setSystemTime(Math.max(Date.now(), time));
        await storage.deleteAlarm();
        await object.alarm();
      }
    });
    vi.setSystemTime(end);
  }

  /** The same without the alarms at which nothing is due, which are one a minute. The others are late by so much. */
  async leap(milliseconds: number, late = 0): Promise<void> {
    const end = Date.now() + milliseconds;
    for (;;) {
      const { nextAttemptAt } = await this.state();
      const next = nextAttemptAt === undefined ? Infinity : Date.parse(nextAttemptAt) + late;
      if (next > end) break;
      vi.setSystemTime(Math.max(Date.now(), next));
      await runDurableObjectAlarm(this.stub);
    }
    vi.setSystemTime(end);
  }

  /** What the operation responds with. */
  async state() {
    return see("getWebhookState", 200, await this.stub.state(this.name));
  }

  /** All that the operation responds with, on its pages. */
  async deliveries() {
    return see("listDeliveries", 200, (await this.stub.deliveries(this.name, { limit: 2_000 })).deliveries);
  }

  async replay(from: string) {
    return see("replayWebhook", 200, await this.stub.replay(this.name, from));
  }

  /** Statements on the storage of the object. */
  async rows(sql: string): Promise<Record<string, unknown>[]> {
    return runInDurableObject(this.stub, (_object, { storage }) => storage.sql.exec(sql).toArray());
  }
}

/** Adds a webhook that starts at the present end of the feed. Its receiver has taken a test, unless it is new. */
export async function addHook({ url = URL_OF_RECEIVER, types = ALL_TYPES, isNew = false } = {}): Promise<Hook> {
  const name = await env.DB.prepare(
    `INSERT INTO webhooks (tag, url, types, created_by, created_at, place)
     SELECT random() & 4294967295, ?, ?, 'key_1', '2026-01-01T00:00:00.000Z', printf('%016x%08x', id, tag)
     FROM events ORDER BY id DESC LIMIT 1 RETURNING id || '-' || tag AS name`,
  )
    .bind(url, JSON.stringify(types))
    .first<string>("name");
  const hook = new Hook(name ?? "");
  if (!isNew) await hook.stub.sendTest(hook.name);
  forget();
  return hook;
}

/** An event of a resource: its id and its version, or its type too. */
export type NewEvent = [resource: number, version?: number, type?: string];

const ORDER = { quantity: 1, status: "placed", createdAt: "2026-01-01T00:00:00.000Z", shipDate: null, complete: false };

/** What an event of a type has of its resource. */
function dataOf(id: number, type: string): object {
  if (type.endsWith(".deleted")) return { id };
  return type.startsWith("order.")
    ? { id, petId: id, ...ORDER }
    : { id, name: "Rex", categoryId: 1, status: "available" };
}

/** Adds events to the feed. Returns their ids. */
export async function addEvents(...events: NewEvent[]): Promise<string[]> {
  const { results } = await env.DB.prepare(
    `INSERT INTO events (tag, type, version, data, created_at)
     SELECT random() & 4294967295, value ->> 2, value ->> 1, value -> 0, '2026-01-01T00:00:00.000Z'
     FROM json_each(?) ORDER BY key RETURNING printf('evt_%016x%08x', id, tag) AS id`,
  )
    .bind(JSON.stringify(events.map(([id, version = 1, type = "pet.updated"]) => [dataOf(id, type), version, type])))
    .all<{ id: string }>();
  return results.map(({ id }) => id).toSorted();
}

/** A webhook with events to deliver, and their ids. */
export async function hookWith(...events: NewEvent[]): Promise<{ hook: Hook; sent: string[] }> {
  const hook = await addHook();
  return { hook, sent: await addEvents(...events) };
}

/** Events of so many resources, one of each. */
export const events = (count: number, first = 1): NewEvent[] =>
  Array.from({ length: count }, (_, index) => [first + index]);

/** The ids of the events that the receiver got, in their order. */
export const ids = () => received.map(({ id }) => id);
/** The resource and the version of each of them. */
export const versions = () => received.map(({ resource, version }) => `${resource}:${version}`);
