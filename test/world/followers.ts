import type { Clients } from "./clients.ts";
import type { Clock } from "./clock.ts";
import type { Copy, Kind, Stored } from "./feed.ts";
import { Follower } from "./follower.ts";
import type { History } from "./history.ts";
import type { ApiKey } from "./operators.ts";
import type { Random, RandomOf } from "./random.ts";
import { LOCATIONS } from "./service.ts";

/** Programs that follow the feed, with the resources of their copies. */
const KINDS: Kind[][] = [["pet", "category", "order"], ["pet"], ["category", "order"]];
/** Milliseconds that a life lasts, at most. */
const LIFE = { least: 1_000, short: 60_000, long: 1_800_000, job: 600_000 };

/** A follower, its present life, and the bookmark that the last one had. */
interface Following {
  follower: Follower;
  life: { isAlive: boolean };
  bookmark: string | undefined;
}

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

/** The programs that keep copies. Each has one life after another, and its copy survives them. */
export class Followers {
  readonly #world: Surroundings;
  readonly #all: Following[];

  constructor(world: Surroundings) {
    this.#world = world;
    const { clock, history } = world;
    this.#all = KINDS.map((kinds, index) => {
      const name = `follower ${index}`;
      const onStore = (stored: Stored) => {
        const what = `${name} stores ${stored.events.length} events, and goes from ${stored.from} to ${stored.to}`;
        history.occurred(clock.now, what, { stored });
      };
      return { follower: new Follower(name, kinds, onStore), life: { isAlive: false }, bookmark: undefined };
    });
  }

  /** Starts the next life of a follower. Its last one ends, wherever it is. */
  goOn(random: Random): void {
    const { clients, clock, keys } = this.#world;
    const one = random.pick(this.#all);
    one.life.isAlive = false;
    const life: Following["life"] = { isAlive: true };
    one.life = life;
    const isAlive = () => life.isAlive;
    const bookmark = random.chance(0.5) ? one.bookmark : undefined;
    const session = clients.start(random.between(0, LOCATIONS - 1), random.pick(keys), bookmark, isAlive);
    const lives = random.weighted({ short: 6, long: 3, job: 3 });
    const begin = { session, random, isAlive };
    const ended = clients.call(() => (lives === "job" ? one.follower.catchUp(begin) : one.follower.follow(begin)));
    ended.catch(() => {});
    clock.after(random.delay(LIFE.least, LIFE[lives]), () => {
      life.isAlive = false;
      one.bookmark = session.bookmark;
    });
  }

  /** Lets each that has a place go on to the end of the feed, after some milliseconds. */
  catchUp(milliseconds: number, randomOf: RandomOf): void {
    const { clients, clock, keys } = this.#world;
    for (const [index, follower] of this.#started.entries()) {
      clock.after(milliseconds, () => {
        const session = clients.start(index % LOCATIONS, keys[0] as ApiKey);
        void follower.catchUp({ session, random: randomOf(follower.name), isAlive: () => true }).catch(() => {});
      });
    }
  }

  /** What each that has a place has stored. */
  get copies(): FollowerCopy[] {
    return this.#started.map(({ name, kinds, copy, copied, place }) => ({ name, kinds, copy, copied, place }));
  }

  get #started(): Follower[] {
    return this.#all.map(({ follower }) => follower).filter(({ isStarted }) => isStarted);
  }
}
