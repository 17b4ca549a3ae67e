import type { PetStoreEvent, Session } from "../../client/src/index.ts";
import { decodeEventCursor } from "../../src/feed/place.ts";
import type { Clients } from "./clients.ts";
import type { Clock } from "./clock.ts";
import { stateOf } from "./d1.ts";
import { type Copy, type Kind, kindOf, type Stored } from "./feed.ts";
import type { History } from "./history.ts";
import type { ApiKey } from "./operators.ts";
import type { Random, RandomOf } from "./random.ts";
import { LOCATIONS } from "./service.ts";

/** Programs that follow the feed, with the resources of their copies. */
const KINDS: Kind[][] = [["pet", "category", "order"], ["pet"], ["category", "order"]];
/** Milliseconds that a life lasts, at most. */
const LIFE = { least: 1_000, short: 60_000, long: 1_800_000, job: 600_000 };

const { rawJSON } = JSON as unknown as { rawJSON: (text: string) => unknown };
const LATEST = "latest";

/** The resources of each kind, in a session. */
const LISTS = {
  pet: (session: Session, limit: number) => session.pets.list({ etags: true, limit }),
  category: (session: Session, limit: number) => session.categories.list({ etags: true, limit }),
  order: (session: Session, limit: number) => session.orders.list({ etags: true, limit }),
};
const TYPES: { [kind in Kind]: string[] } = {
  pet: ["pet.created", "pet.updated", "pet.deleted"],
  category: ["category.created", "category.updated", "category.deleted"],
  order: ["order.placed", "order.shipped", "order.cancelled", "order.updated"],
};

/** What a follower has in the end. */
export interface FollowerCopy {
  name: string;
  kinds: readonly Kind[];
  copy: Copy;
  copied: Stored["copied"];
  /** The id of the last event that it knows. */
  place: number;
}

/** The parts of the world that followers use. */
export interface Surroundings {
  clients: Clients;
  clock: Clock;
  history: History;
  /** The keys that stay good. */
  keys: readonly ApiKey[];
}

/** How a follower runs, until it ends at a bad moment. */
interface Life {
  session: Session;
  random: Random;
  isAlive: () => boolean;
}

/** A program that keeps a copy, as docs/events.md shows it. What it has stored survives its end. */
class Follower {
  readonly name: string;
  readonly kinds: readonly Kind[];
  copy: Copy = new Map();
  /** The states that the lists of its copy have seen, from the first to the last. */
  copied = { from: 0, to: 0 };
  /** Ends its present life. */
  end = (): void => {};
  /** The bookmark that its last life had. */
  bookmark: string | undefined;
  #cursor = LATEST;
  readonly #onStore: (stored: Stored) => void;

  constructor(name: string, kinds: readonly Kind[], onStore: (stored: Stored) => void) {
    this.name = name;
    this.kinds = kinds;
    this.#onStore = onStore;
  }

  /** Whether it has a place. */
  get isStarted(): boolean {
    return this.#cursor !== LATEST;
  }

  /** The id of the last event that it knows. */
  get place(): number {
    return Number(decodeEventCursor(this.#cursor)?.id);
  }

  /** Follows the feed for as long as it lives, or up to its end. */
  async follow(life: Life, isJob: boolean): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    const idle = isJob ? () => (controller.abort(), 0) : undefined;
    const onReset = () => this.#copyAnew(life);
    const options = { cursor: this.#cursor, ...this.#query(life), signal, idle, onReset };
    for await (const page of life.session.events.follow(options)) {
      if (!life.isAlive()) return;
      this.#store(page.events, page.cursor);
    }
  }

  #query({ random }: Life) {
    const all = this.kinds.length === Object.keys(LISTS).length && random.chance(0.5);
    // With few attempts, more failures reach `follow`.
    const retry = { attempts: random.pick([1, 2, 6]) };
    const limit = random.pick([1, 2, 10, 100]);
    return { ...(!all && { types: this.kinds.flatMap((kind) => TYPES[kind]) }), limit, retry };
  }

  async #copyAnew({ session, random, isAlive }: Life): Promise<void> {
    const copy = new Map<string, { version: number; text: string }>();
    const from = stateOf(session.bookmark ?? "");
    for (const kind of this.kinds) {
      for await (const { version, etag: _, ...resource } of LISTS[kind](session, random.pick([2, 10, 100]))) {
        copy.set(`${kind} ${resource.id}`, { version, text: textOf(resource) });
      }
    }
    if (!isAlive()) return;
    [this.copy, this.#cursor, this.copied] = [copy, LATEST, { from, to: stateOf(session.bookmark ?? "") }];
  }

  /** One transaction. */
  #store(events: readonly PetStoreEvent[], cursor: string): void {
    const copy = new Map(this.copy);
    for (const { type, data, version } of events) {
      const name = `${kindOf(type)} ${(data as { id: bigint }).id}`;
      if (type.endsWith(".deleted")) copy.delete(name);
      else if (version > (copy.get(name)?.version ?? 0)) copy.set(name, { version, text: textOf(data as object) });
    }
    const { name: follower, kinds } = this;
    const ids = events.map(({ id }) => id);
    this.#onStore({ follower, from: this.#cursor, to: cursor, events: ids, copied: this.copied, kinds, copy });
    [this.copy, this.#cursor] = [copy, cursor];
  }
}

/** The text of a resource that the client read. */
const textOf = (resource: object) =>
  JSON.stringify(resource, (_name, value: unknown) => (typeof value === "bigint" ? rawJSON(String(value)) : value));

/** The programs that keep copies. Each has one life after another, and its copy survives them. */
export class Followers {
  readonly #world: Surroundings;
  readonly #all: Follower[];

  constructor(world: Surroundings) {
    this.#world = world;
    const { clock, history } = world;
    this.#all = KINDS.map((kinds, index) => {
      const name = `follower ${index}`;
      const onStore = (stored: Stored) => {
        const what = `${name} stores ${stored.events.length} events, and goes from ${stored.from} to ${stored.to}`;
        history.occurred(clock.now, what, { stored });
      };
      return new Follower(name, kinds, onStore);
    });
  }

  /** Starts the next life of a follower. Its last one ends, wherever it is. */
  goOn(random: Random): void {
    const { clients, clock, keys } = this.#world;
    const follower = random.pick(this.#all);
    follower.end();
    let isAlive = true;
    follower.end = () => void (isAlive = false);
    const bookmark = random.chance(0.5) ? follower.bookmark : undefined;
    const session = clients.start(random.between(0, LOCATIONS - 1), random.pick(keys), bookmark, () => isAlive);
    const kind = random.weighted({ short: 6, long: 3, job: 3 });
    const life = { session, random, isAlive: () => isAlive };
    clients.call(() => follower.follow(life, kind === "job")).catch(() => {});
    clock.after(random.delay(LIFE.least, LIFE[kind]), () => {
      isAlive = false;
      follower.bookmark = session.bookmark;
    });
  }

  /** Lets each that has a place go on to the end of the feed, after some milliseconds. */
  catchUp(milliseconds: number, randomOf: RandomOf): void {
    const { clients, clock, keys } = this.#world;
    for (const [index, follower] of this.#started.entries()) {
      clock.after(milliseconds, () => {
        const session = clients.start(index % LOCATIONS, keys[0] as ApiKey);
        void follower.follow({ session, random: randomOf(follower.name), isAlive: () => true }, true).catch(() => {});
      });
    }
  }

  /** What each that has a place has stored. */
  get copies(): FollowerCopy[] {
    return this.#started.map(({ name, kinds, copy, copied, place }) => ({ name, kinds, copy, copied, place }));
  }

  get #started(): Follower[] {
    return this.#all.filter(({ isStarted }) => isStarted);
  }
}
