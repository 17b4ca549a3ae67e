import type { Session } from "../../client/src/index.ts";
import type { Prepared } from "../../register/simulated.ts";
import type { Clients } from "./clients.ts";
import type { Clock } from "./clock.ts";
import type { ApiKey } from "./operators.ts";
import type { Random, RandomOf } from "./random.ts";
import { LOCATIONS } from "./service.ts";

const SHOPS = 6;
/** Calls that a program keeps for the time after a crash, at most. */
const UNFINISHED = 20;
/** The share of calls whose end a program does not note. */
const FORGETS = 0.2;
/** Milliseconds in which programs go on after a restore. */
const RESUMES = 60_000;

/** A program that uses the service, in one session after another. */
interface Shop {
  location: number;
  key: ApiKey;
  session: Session;
  /** What it ran and may not have finished, as it stored it. */
  unfinished: Prepared[];
}

/** The programs that use the official client. They crash, travel, and repeat what they may not have finished. */
export class Shops {
  readonly #clients: Clients;
  readonly #clock: Clock;
  readonly #random: RandomOf;
  readonly #all: Shop[];

  constructor(clients: Clients, clock: Clock, random: RandomOf, keys: readonly ApiKey[]) {
    this.#clients = clients;
    this.#clock = clock;
    this.#random = random;
    this.#all = Array.from({ length: SHOPS }, (_, index) =>
      this.#open(index % LOCATIONS, keys[index % keys.length] as ApiKey),
    );
  }

  /** One of them. */
  pick(random: Random): Shop {
    return this.#all[random.between(0, SHOPS - 1)] as Shop;
  }

  run(shop: Shop, prepared: Prepared): void {
    shop.unfinished.push(prepared);
    if (shop.unfinished.length > UNFINISHED) shop.unfinished.shift();
    const outcome = this.#clients.call(() => prepared(shop.session));
    const forgets = this.#random("notes", this.#clients.step).chance(FORGETS);
    const note = () => (forgets ? undefined : noteEnd(shop, prepared));
    outcome.then(note, () => {});
  }

  /** Ends a program. The next one has what this one stored, and perhaps its bookmark. */
  crash(shop: Shop, random: Random): void {
    this.#replace(shop, shop.location, random.chance(0.5) ? shop.session.bookmark : undefined);
  }

  /** Moves a program to another location. */
  travel(shop: Shop, random: Random): void {
    this.#replace(shop, random.between(0, LOCATIONS - 1), shop.session.bookmark);
  }

  /** Repeats a call that may not have finished. */
  goOn(shop: Shop, random: Random): void {
    if (shop.unfinished.length > 0) this.run(shop, random.pick(shop.unfinished));
  }

  /** Lets every program repeat such a call, some time after the database lost what it knew of it. */
  goOnAfterRestore(random: Random): void {
    for (const index of this.#all.keys())
      this.#clock.after(random.delay(0, RESUMES), () => this.goOn(this.#all[index] as Shop, random));
  }

  #replace(shop: Shop, location: number, bookmark: string | undefined): void {
    this.#all[this.#all.indexOf(shop)] = this.#open(location, shop.key, bookmark, shop.unfinished);
  }

  #open(location: number, key: ApiKey, bookmark?: string, unfinished: readonly Prepared[] = []): Shop {
    return { location, key, session: this.#clients.start(location, key, bookmark), unfinished: [...unfinished] };
  }
}

/** Notes that a call is over. */
function noteEnd(shop: Shop, call: Prepared): void {
  shop.unfinished = shop.unfinished.filter((one) => one !== call);
}
