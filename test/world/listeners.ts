import { decodeEventCursor } from "../../src/feed/place.ts";
import { HUB } from "../../src/live/table.ts";
import { ADMISSION, type Finding, REVOCATION } from "./checkers.ts";
import type { Clients } from "./clients.ts";
import type { Clock } from "./clock.ts";
import { tokenOf } from "./customers.ts";
import { has, kindOf, type Row, rowOf, rowsAfter, type View, viewsOf, write } from "./feed.ts";
import type { Exchange, History } from "./history.ts";
import type { Objects } from "./objects.ts";
import type { ApiKey } from "./operators.ts";
import type { Random } from "./random.ts";
import { LARGEST_SKEW, LOCATIONS, type Service } from "./service.ts";
import { BROKEN, type Socket } from "./sockets.ts";
import { type Outcome, PRESENT } from "./world.ts";

/** Milliseconds of a life, between two connections, and until the service knows that a client has left. */
const LIFE = { least: 1_000, short: 60_000, long: 1_800_000 };
const PAUSE = { least: 500, most: 5_000 };
const GONE = 120_000;
/** Hubs of a world, at most. */
const HUBS = 2;
/** Events that a listener may have missed when it comes back, at least. The service looks for 1,000. */
const MISSED = 500;
const UNAUTHORIZED = 4401;
/** How a socket may end: a crash, a restore, much that was sent, and the end of its key or token. */
const ENDS = [BROKEN, 1012, 1008, UNAUTHORIZED];
const STATUSES = [101, 401, 410, 429, 503];
const PAGE = /^\{"events":\[(.*)\],"cursor":"([0-9a-f]{32})","more":false(?:,"bookmark":"[^"]+")?\}$/s;
const LATEST = "latest";

/** Who listens. */
interface Rights {
  /** Undefined for a program with a key. */
  customer?: string;
  scopes: readonly string[];
  /** That it asks for. Undefined for all that it may see. */
  types?: readonly string[];
}

/** What a listener was told, or how its socket ended. */
export interface Heard {
  listener: string;
  rights: Rights;
  /** Its key or its token. */
  key: ApiKey;
  from: string;
  /** The code of the end instead. */
  to: string | number;
  events: string;
}

/** How far each listener was that listened in the end. */
export type ListenerEnd = Pick<Heard, "listener" | "rights" | "from">;

const KEY = ["pets:read", "store:read"];
const ALL: readonly Rights[] = [
  { scopes: KEY },
  { scopes: KEY, types: ["order.placed", "pet.updated"] },
  { scopes: ["pets:read"] },
  { customer: "ada", scopes: ["pets:read", "orders:own"] },
  { customer: "Ada", scopes: ["orders:own"] },
  { customer: "ada", scopes: ["orders:own"], types: ["order.updated", "order.cancelled"] },
  { customer: "%41+&", scopes: ["pets:read"] },
];

function sees({ customer, scopes, types }: Rights, { type, data }: Row): boolean {
  const isOrder = kindOf(type) === "order";
  const scope = isOrder ? (customer === undefined ? "store:read" : "orders:own") : "pets:read";
  if (type === "feed.started" || !scopes.includes(scope) || types?.includes(type) === false) return false;
  return !isOrder || customer === undefined || (JSON.parse(data) as { customer?: string }).customer === customer;
}

/** The parts of the world that listeners use. */
export interface Surroundings {
  clients: Clients;
  clock: Clock;
  history: History;
  service: Service;
  objects: Objects;
  /** The keys that stay good, and one with the scope of animals alone. */
  keys: readonly ApiKey[];
  narrow: ApiKey;
}

/** A page or a program that listens, one life after another. It goes on from its last cursor. */
class Listener {
  readonly name: string;
  readonly rights: Rights;
  cursor = LATEST;
  /** Ends its present life. Undefined without one. */
  end: (() => void) | undefined;
  readonly #world: Surroundings;

  constructor(world: Surroundings, rights: Rights, index: number) {
    [this.#world, this.rights, this.name] = [world, rights, `listener ${index}`];
  }

  /** @param key of a program. Customers get tokens of it. */
  async live(random: Random, key: ApiKey): Promise<void> {
    this.end?.();
    const { clients, clock, service } = this.#world;
    const { customer, scopes, types = [] } = this.rights;
    const { step } = clients;
    const life = { isAlive: true };
    let socket: Socket | undefined;
    const end = (this.end = () => {
      life.isAlive = false;
      // Some say so, and others lose their network.
      socket?.close(random.chance(0.5) ? 1000 : BROKEN, random.delay(1, GONE));
      if (this.end === end) this.end = undefined;
    });
    let own: ApiKey | undefined;
    while (life.isAlive) {
      own ??= customer === undefined ? key : tokenOf(clock, key, customer, service.secret, random, scopes);
      const query = new URLSearchParams([["cursor", this.cursor], ...types.map((type) => ["type", type])]);
      const request = { method: "GET", path: `/v1/events/live?${query.toString()}`, headers: { Upgrade: "websocket" } };
      const sent = { ...request, body: undefined, session: undefined };
      const response = await clients.send(sent, own, random.between(0, LOCATIONS - 1), step).catch(() => undefined);
      socket = (response as { webSocket?: Socket } | undefined)?.webSocket;
      if (!life.isAlive) socket?.close(BROKEN, random.delay(1, GONE));
      const code = life.isAlive && socket !== undefined ? await this.#listen(socket, own) : response?.status;
      // The next life may have begun meanwhile.
      if (code === 410 && life.isAlive) this.cursor = LATEST;
      // The key has ended too, or a release has another secret.
      if ((code === 401 || code === UNAUTHORIZED) && (own.token?.expiresAt ?? Infinity) > clock.now) end();
      if (code === 401 || code === UNAUTHORIZED) own = undefined;
      await clock.wait(random.between(PAUSE.least, PAUSE.most));
    }
  }

  /** Returns the code of the end. */
  #listen(socket: Socket, key: ApiKey): Promise<number> {
    const { clock, history } = this.#world;
    const { name: listener, rights } = this;
    return new Promise((resolve) => {
      socket.listen((message) => {
        const [, events = "", cursor = ""] = PAGE.exec(String(message)) ?? [];
        const to = typeof message === "number" ? message : cursor;
        const what = typeof to === "number" ? `ends with ${to}` : `goes from ${this.cursor} to ${to}, with ${events}`;
        history.occurred(clock.now, `${listener} ${what}`, {
          heard: { listener, rights, key, from: this.cursor, to, events },
        });
        if (typeof to === "string") this.cursor = to;
        else {
          socket.close(1000, 1);
          resolve(to);
        }
      });
    });
  }
}

/** Those who listen to the live feed. */
export class Listeners {
  readonly #world: Surroundings;
  readonly #all: readonly Listener[];
  #isEnding = false;
  readonly ends: ListenerEnd[] = [];

  constructor(world: Surroundings) {
    this.#world = world;
    this.#all = ALL.map((rights, index) => new Listener(world, rights, index));
  }

  /** Starts the next life of a listener. Its last one ends, wherever it is. */
  goOn(random: Random, latest: ApiKey | undefined): void {
    const { keys, clock } = this.#world;
    const listener = random.pick(this.#all);
    const key = latest !== undefined && random.chance(0.3) ? latest : random.pick(keys);
    this.#start(listener, random, key);
    const { end } = listener;
    clock.after(random.delay(LIFE.least, LIFE[random.pick(["short", "long"] as const)]), () => {
      if (!this.#isEnding && listener.end === end) end?.();
    });
  }

  /** Those that listen go on, and the others come back, for so many milliseconds. */
  catchUp(milliseconds: number, random: Random): void {
    const { clock, keys, objects } = this.#world;
    this.#isEnding = true;
    clock.after(milliseconds, () => {
      for (const listener of this.#all)
        if (listener.end === undefined) this.#start(listener, random, keys[0] as ApiKey);
      // The next hourly job would do so.
      for (let hub = 0; hub < HUBS; hub++)
        if (objects.lost.has(`${HUB}${hub}`)) void objects.call(`${HUB}${hub}`, "look", [`${HUB}${hub}`]);
    });
    clock.after(3 * milliseconds, () => {
      for (const { name: listener, rights, cursor: from, end } of this.#all) {
        if (end !== undefined) this.ends.push({ listener, rights, from });
        end?.();
      }
    });
  }

  #start(listener: Listener, random: Random, key: ApiKey): void {
    const { customer, scopes } = listener.rights;
    const isNarrow = customer === undefined && scopes.length === 1;
    void listener.live(random, isNarrow ? this.#world.narrow : key);
  }
}

/**
 * A listener hears every event between its places that it may see and wants, once and in order, and nothing else. It hears nothing for
 * long after its key or its token has ended, and is sent away for a reason only. When nothing happens any more, it has heard everything.
 */
export function* listenersHearTheirs(outcome: Outcome): Generator<Finding> {
  const { feed, history, listeners, operators } = outcome;
  const views = viewsOf(outcome);
  // A restore may bring rows back, which are as old as before.
  const all = feed.flatMap(({ added }, state) => added.map(({ place }) => [place, state] as const));
  const states = new Map(all.toReversed());
  const keys = new Map(operators.keys.map((key) => [key.name, key]));
  const finding = (what: string, message: string): Finding => ({ message: `${what}: ${message}` });
  for (const event of history.events) {
    if (event.kind === "response") yield* answersAreRight(event.exchange, outcome, views);
    if (event.kind !== "occurrence" || event.heard === undefined) continue;
    const { listener, rights, key, from, to, events } = event.heard;
    const { createdAt, revokedAt = Infinity } = keys.get(key.name) as ApiKey;
    const expiresAt = Math.min(key.expiresAt ?? Infinity, key.token?.expiresAt ?? Infinity);
    if (typeof to === "number") {
      const isGood = event.at > createdAt + ADMISSION && event.at < Math.min(revokedAt, expiresAt);
      if (!ENDS.includes(to) || (to === UNAUTHORIZED && isGood)) yield finding(listener, `It ends with ${to}.`);
      continue;
    }
    const place = decodeEventCursor(to);
    const state = states.get(place?.text ?? "");
    const view = views[state ?? -1];
    if (place === undefined || view === undefined) {
      yield finding(listener, `The feed never had the place ${to}.`);
      continue;
    }
    const start = decodeEventCursor(from);
    const [first, last] = [Number(start?.id ?? place.id), Number(place.id)];
    if (start !== undefined && (rowOf(view, first)?.place !== start.text || last < first))
      yield finding(listener, `It goes from ${from} to ${to}.`);
    const expected = rowsAfter(view, first, last).filter((row) => sees(rights, row));
    if (expected.map(write).join() !== events)
      yield finding(listener, `From ${from} to ${to} it hears ${events} instead of ${expected.map(write).join()}.`);
    const at = Math.max(...expected.map((row) => feed[states.get(row.place) ?? 0]?.at ?? 0));
    if (at > Math.min(expiresAt + LARGEST_SKEW, revokedAt + REVOCATION))
      yield finding(listener, `It hears what happened at ${at}, and ${key.name} had ended.`);
  }
  const end = views.at(-1) as View;
  for (const { listener, rights, from } of listeners) {
    const { id = 0, text } = decodeEventCursor(from) ?? {};
    const missed = rowsAfter(end, Number(id), end.newest).filter((row) => sees(rights, row));
    if (rowOf(end, Number(id))?.place !== text || missed.length > 0)
      yield finding(listener, `It is at ${from} in the end, and misses ${missed.map(write).join()}.`);
  }
}

/** A cursor is too old only when the feed did not have its place meanwhile, or much has happened since. */
function* answersAreRight(exchange: Exchange, { feed }: Outcome, views: readonly View[]): Generator<Finding> {
  const { path, status, sentAt, respondedAt = 0 } = exchange;
  if (!path.startsWith("/v1/events/live") || status === undefined) return;
  const isBefore = status === 404 && exchange.version !== PRESENT;
  if (!STATUSES.includes(status) && !isBefore) yield { exchange, message: `A listener gets a ${status}.` };
  if (status !== 410) return;
  const place = decodeEventCursor(new URLSearchParams(path.split("?")[1]).get("cursor") ?? "");
  const first = Math.max(
    0,
    feed.findLastIndex(({ at }) => at <= sentAt),
  );
  const met = views.filter((_, state) => state >= first && (feed[state]?.at ?? 0) <= respondedAt);
  if (place !== undefined && met.every((view) => has(view, place) && view.newest - Number(place.id) < MISSED))
    yield { exchange, message: "The feed has the place." };
}
