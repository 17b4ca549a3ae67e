import { encodeEventCursor } from "../../src/feed/place.ts";
import { EVENT_TYPES } from "../../src/feed/table.ts";
import type { Clients } from "./clients.ts";
import type { Clock } from "./clock.ts";
import { bookmarkOf } from "./d1.ts";
import type { Database } from "./database.ts";
import type { History } from "./history.ts";
import type { ApiKey } from "./operators.ts";
import type { Random } from "./random.ts";
import { LOCATIONS } from "./service.ts";

/** A request that a receiver got. */
export interface Attempt {
  /** The name of the object, and the number of its life. */
  name: string;
  life: number;
  url: string;
  headers: { readonly [name: string]: string };
  body: string;
  at: number;
  id: string;
  type: string;
  /** When the receiver responded, with which status, and whether the object got it. */
  end?: number;
  status?: number | undefined;
  isHeard?: boolean;
  /** When the object gave it up. */
  givenUpAt?: number;
  /** Milliseconds for which the response asked for a pause. */
  pause?: number;
}

/** How receivers respond. The first one is what they do in a calm time. */
const MOODS = [
  "well",
  "down",
  "slow",
  "poisoned",
  "busy",
  "gone",
  "flaky",
  "choosy",
  "refuses some",
  "hangs for some",
  "well",
] as const;
type Mood = (typeof MOODS)[number];
/** The type that a choosy receiver refuses. */
const REFUSED_TYPE = "pet.updated";
const isSome = (resource: number) => resource % 3 === 0;

/** Whether a receiver in a mood takes every attempt of an event. */
export function takes(mood: Mood, { type, resource }: { type: string; resource: number }): boolean {
  if (mood === "choosy") return type !== REFUSED_TYPE;
  return mood === "well" || ((mood === "refuses some" || mood === "hangs for some") && !isSome(resource));
}
const REFUSALS = [301, 400, 404, 500, 502, undefined];
const RETRY_AFTER = ["1", "30", "120", "3600", "Wed, 25 Nov 2026 00:00:00 GMT", "soon"];
/** Milliseconds that a service waits at most, whatever a receiver asks for. */
const LONGEST_PAUSE = 24 * 3_600_000;
/** Milliseconds until a response, at most. An attempt lasts 15 seconds. */
const LONGEST = { fast: 2_000, slow: 25_000 };
/** Milliseconds of a request on its way to a receiver, at most. */
export const ON_ITS_WAY = 100;
export const hostOf = (url: string) => new URL(url).hostname;
/** The host of the receiver that always works, and whose webhook nobody changes. */
export const HEALTHY = "hook-0.shop.com";

/** The receivers of all webhooks, one for each host. */
export class Receivers {
  readonly #clock: Clock;
  readonly #history: History;
  /** Of each host that has changed, the last one first. */
  readonly moods = new Map<string, { mood: Mood; at: number }[]>();
  readonly attempts: Attempt[] = [];
  /** The events that the log says to have failed. */
  readonly failed: { name: string; event: string; error: string | null; at: number }[] = [];
  isCalm = false;

  constructor(clock: Clock, history: History) {
    [this.#clock, this.#history] = [clock, history];
  }

  change(random: Random): void {
    const host = `hook-${random.between(1, 3)}.shop.com`;
    const mood = random.pick(MOODS);
    this.moods.set(host, [{ mood, at: this.#clock.now }, ...(this.moods.get(host) ?? [])]);
    this.#history.occurred(this.#clock.now, `${host} is ${mood}`);
  }

  /** Hears a line of the log of an object. */
  hear(name: string, line: string): void {
    const { message, event, error } = JSON.parse(line) as { message: string; event: string; error: string | null };
    if (message === "a delivery failed") this.failed.push({ name, event, error, at: this.#clock.now });
  }

  /** Takes a request. Returns after how many milliseconds it ends, and how. Without a response, the connection is lost. */
  receive(
    request: Pick<Attempt, "name" | "life" | "url" | "headers" | "body">,
    random: Random,
  ): { after: number; end: (isHeard: boolean) => Response | undefined; giveUp: () => void } {
    const { id, type, data } = JSON.parse(request.body) as { id: string; type: string; data: { id?: number } };
    const { now } = this.#clock;
    const attempt: Attempt = { ...request, id, type, at: now };
    this.attempts.push(attempt);
    const host = hostOf(request.url);
    const mood = this.isCalm || host === HEALTHY ? "well" : (this.moods.get(host)?.[0]?.mood ?? "well");
    const isTaken = takes(mood, { type, resource: data.id ?? 1 });
    const isRefused = {
      well: false,
      slow: random.chance(0.1),
      down: true,
      poisoned: /[05a].$/.test(id),
      busy: random.chance(0.7),
      gone: true,
      flaky: random.chance(0.5),
      choosy: !isTaken,
      "refuses some": !isTaken,
      "hangs for some": !isTaken,
    }[mood];
    const refusal = mood === "busy" ? random.pick([429, 503]) : mood === "gone" ? 410 : random.pick(REFUSALS);
    const status = isRefused ? refusal : random.pick([200, 204]);
    const retryAfter = random.pick(RETRY_AFTER);
    const end = (isHeard: boolean) => {
      const pause = mood === "busy" && isRefused && isHeard ? pauseOf(retryAfter, this.#clock.now) : 0;
      Object.assign(attempt, { end: this.#clock.now, status, isHeard, pause });
      const heard = isHeard ? "" : " (lost)";
      this.#history.occurred(this.#clock.now, `${request.name} sent ${type} ${id} to ${host}: ${status}${heard}`);
      if (status === undefined) return undefined;
      return new Response(null, { status, headers: mood === "busy" ? { "Retry-After": retryAfter } : {} });
    };
    const after = random.delay(1, mood === "slow" ? LONGEST.slow : LONGEST.fast);
    const giveUp = () => void (attempt.givenUpAt = this.#clock.now);
    return { after: mood === "hangs for some" && !isTaken ? LONGEST.slow : after, end, giveUp };
  }
}

/** Milliseconds that a `Retry-After` asks for. */
function pauseOf(text: string, now: number): number {
  const milliseconds = /^\d+$/.test(text) ? Number(text) * 1_000 : Date.parse(text) - now;
  return Number.isNaN(milliseconds) ? 0 : Math.min(Math.max(milliseconds, 0), LONGEST_PAUSE);
}

export interface Configuration {
  id: number;
  name: string;
  url: string;
  types: string[];
  enabled: number;
  place: string;
  concurrency: number;
}

export interface Replay {
  name: string;
  sentAt: number;
  end: number;
  /** Undefined for the end of the feed. */
  place: string | undefined;
  /** The main place before the replay and after it, and the end of the replay, as far as responses have told them. */
  before?: string;
  after?: string;
  until?: string | undefined;
  /** Whether an owner may have stopped it. */
  isStopped: boolean;
}

const CONFIGURATIONS = "SELECT id, id || '-' || tag AS name, url, types, enabled, place, concurrency FROM webhooks";
const PLACES = "SELECT printf('%016x%08x', id, tag) AS place FROM events";
/** Webhooks that owners have, at most, and attempts of one of their calls. */
const MOST = 3;
const ATTEMPTS = 5;
/** The place in a cursor, which has a checksum after it. */
const placeIn = (cursor: unknown) => String(cursor).slice(0, -8);
/** Milliseconds after a call whose outcome is unknown. No part of it runs longer. */
const LATER = 180_000;

/** The programs that create webhooks and change them. One at a time cares for a webhook. */
export class Owners {
  readonly #clients: Clients;
  readonly #clock: Clock;
  readonly #database: Database;
  readonly #receivers: Receivers;
  readonly #key: ApiKey;
  readonly #busy = new Set<string>();
  /** What the database had from each time on. */
  readonly configurations: { at: number; all: ReadonlyMap<string, Configuration> }[] = [];
  #text = "";
  readonly replays: Replay[] = [];
  /** When each webhook was spoken to. */
  readonly calls: { name: string; from: number; to: number }[] = [];

  constructor(clients: Clients, clock: Clock, database: Database, receivers: Receivers, key: ApiKey) {
    [this.#clients, this.#clock, this.#database] = [clients, clock, database];
    [this.#receivers, this.#key] = [receivers, key];
    this.onCommit();
  }

  /** Notes the webhooks that the database has. */
  onCommit(): void {
    const { primary } = this.#database;
    const rows = primary.rows(CONFIGURATIONS);
    const text = JSON.stringify(rows);
    if (text === this.#text) return;
    this.#text = text;
    const all = rows.map((row) => ({ ...row, types: JSON.parse(String(row["types"])) as string[] }) as Configuration);
    this.configurations.push({ at: this.#clock.now, all: new Map(all.map((one) => [one.name, one])) });
  }

  get present(): Configuration[] {
    return [...(this.configurations.at(-1)?.all.values() ?? [])];
  }

  /** Makes a call that an owner would make. */
  async manage(random: Random): Promise<void> {
    const { present } = this;
    const isHealthyThere = present.some(({ url }) => hostOf(url) === HEALTHY);
    if (present.length < MOST && random.chance(0.5)) return this.#create(random, isHealthyThere);
    if (present.length === 0) return;
    const one = random.pick(present);
    if (this.#busy.has(one.name)) return;
    this.#busy.add(one.name);
    const from = this.#clock.now;
    const call = { name: one.name, from, to: Infinity };
    if (hostOf(one.url) !== HEALTHY || one.enabled === 0) {
      this.calls.push(call);
      await this.#change(random, one);
    } else await this.#send(random, "GET", `/${one.id}/state`);
    call.to = this.#clock.now;
    this.#busy.delete(one.name);
  }

  async #create(random: Random, isHealthyThere: boolean): Promise<void> {
    const host = isHealthyThere ? `hook-${random.between(1, 3)}.shop.com` : HEALTHY;
    const types = isHealthyThere ? typesOf(random) : EVENT_TYPES;
    const headers = { "Idempotency-Key": random.uuid() };
    for (let attempts = 0; attempts < ATTEMPTS; attempts++) {
      const { status } = await this.#send(random, "POST", "", { url: `https://${host}/0`, types }, headers);
      if (status < 500) return;
    }
  }

  async #change(random: Random, { id, name, url, enabled }: Configuration): Promise<void> {
    const kind = random.weighted({ patch: 6, replay: 8, stop: 1, read: 3, test: 3, rotate: 1, delete: 0.3 });
    const isOff = enabled === 0 && random.chance(0.7);
    if (isOff || kind === "patch") {
      const patch = random.pick([
        { url: `https://${hostOf(url)}/${random.between(1, 99)}` },
        { types: typesOf(random) },
        { enabled: false },
        { concurrency: random.between(1, 6) },
      ]);
      await this.#send(random, "PATCH", `/${id}`, isOff ? { enabled: true } : patch);
    } else if (kind === "replay") await this.#replay(random, id, name);
    else if (kind === "stop") {
      for (const replay of this.replays) if (replay.name === name) replay.isStopped = true;
      await this.#send(random, "DELETE", `/${id}/replay`);
    } else if (kind === "test") await this.#send(random, "POST", `/${id}/test`);
    else if (kind === "rotate") await this.#send(random, "POST", `/${id}/rotate-secret`);
    else if (kind === "delete") await this.#send(random, "DELETE", `/${id}`);
    else await this.#send(random, "GET", random.pick(["", `/${id}`, `/${id}/state`, `/${id}/deliveries?limit=5`]));
  }

  async #replay(random: Random, id: number, name: string): Promise<void> {
    const { status, body } = await this.#send(random, "GET", `/${id}/state`);
    if (status !== 200) return;
    const before = placeIn(body["cursor"]);
    // One that the receiver had, any of the feed, or the end of the feed.
    const known = this.#receivers.attempts.filter((one) => one.name === name && one.id.slice(4) <= before);
    const choice = random.weighted({ known: 6, any: 2, latest: 3 });
    const any = this.#database.primary.rows(PLACES).map((row) => String(row["place"]));
    const places = { known: known.slice(-40).map((one) => one.id.slice(4)), any, latest: [] }[choice];
    const place = places.length > 0 ? random.pick(places) : undefined;
    const cursor = place === undefined ? "latest" : encodeEventCursor(place);
    const replay: Replay = { name, sentAt: this.#clock.now, end: Infinity, place, isStopped: false };
    this.replays.push(replay);
    const answer = await this.#send(random, "POST", `/${id}/replay`, { cursor });
    if (answer.status >= 500) await this.#clock.wait(LATER);
    replay.end = this.#clock.now;
    if (answer.status !== 200) return;
    const end = (answer.body["replay"] as { end: string } | undefined)?.end;
    Object.assign(replay, { before, after: placeIn(answer.body["cursor"]), until: end && placeIn(end) });
  }

  /** After the faults: enables every webhook, and may give each another address, which makes everything due. */
  async calm(random: Random, isDue: boolean): Promise<void> {
    for (const { id, url, name } of this.present) {
      this.calls.push({ name, from: this.#clock.now, to: this.#clock.now + LATER });
      const patch = { enabled: true, ...(isDue && { url: `${url}9` }) };
      // An earlier version may not have the route.
      while ((await this.#send(random, "PATCH", `/${id}`, patch)).status === 404) await this.#clock.wait(LATER);
    }
  }

  async #send(
    random: Random,
    method: string,
    path: string,
    content?: object,
    headers: { [name: string]: string } = {},
  ): Promise<{ status: number; body: { [name: string]: unknown } }> {
    const sent = {
      method,
      path: `/v1/webhooks${path}`,
      // A replica that lags may have another webhook with this id.
      headers: {
        "x-d1-bookmark": bookmarkOf(this.#database.state),
        ...headers,
        ...(content && { "Content-Type": "application/json" }),
      },
      body: content && JSON.stringify(content),
      session: undefined,
    };
    try {
      const response = await this.#clients.send(sent, this.#key, random.between(0, LOCATIONS - 1));
      const text = await response.text();
      return { status: response.status, body: (text === "" ? {} : JSON.parse(text)) as { [name: string]: unknown } };
    } catch {
      return { status: 599, body: {} };
    }
  }
}

/** Most of the types. */
const typesOf = (random: Random) => {
  const types = EVENT_TYPES.filter(() => random.chance(0.8));
  return types.length === 0 ? EVENT_TYPES : types;
};
