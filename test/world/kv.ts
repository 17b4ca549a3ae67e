import type { Clock } from "./clock.ts";
import type { Random } from "./random.ts";

/** "Up to 60 seconds or more" until a location sees a change (KV documentation). The world takes the 60. */
const LONGEST_DELAY = 60_000;

interface Version {
  value: string;
  /** When each location sees it. */
  times: number[];
}

/** A KV namespace: each location sees a change at its own time, and caches what it read, also that there is nothing. */
export class Namespace {
  readonly #versions = new Map<string, Version[]>();
  readonly #cached = new Map<string, { value: string | null; until: number }>();
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #locations: number;

  constructor(clock: Clock, random: Random, locations: number) {
    this.#clock = clock;
    this.#random = random;
    this.#locations = locations;
  }

  put(name: string, value: string): void {
    const versions = this.#versions.get(name) ?? [];
    const times = Array.from({ length: this.#locations }, (_, location) => {
      const time = this.#clock.now + this.#random.delay(0, LONGEST_DELAY);
      // A location does not see an earlier version after a later one.
      return Math.max(time, versions.at(-1)?.times[location] ?? 0);
    });
    this.#versions.set(name, [...versions, { value, times }]);
  }

  get(location: number, name: string, cacheSeconds: number): string | null {
    const { now } = this.#clock;
    const place = `${location} ${name}`;
    const cached = this.#cached.get(place);
    if (cached !== undefined && now < cached.until) return cached.value;
    const seen = this.#versions.get(name)?.findLast(({ times }) => (times[location] ?? 0) <= now);
    const value = seen?.value ?? null;
    this.#cached.set(place, { value, until: now + cacheSeconds * 1000 });
    return value;
  }
}
