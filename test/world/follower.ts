import type { PetStoreEvent, Session } from "../../client/src/index.ts";
import { decodeEventCursor } from "../../src/feed/place.ts";
import { stateOf } from "./d1.ts";
import { type Copy, type Kind, kindOf, type Stored } from "./feed.ts";
import type { Random } from "./random.ts";

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

/** How a follower runs, until it ends at a bad moment. */
interface Life {
  session: Session;
  random: Random;
  isAlive: () => boolean;
}

/** A program that keeps a copy, as docs/events.md shows it. What it has stored survives its end. */
export class Follower {
  readonly name: string;
  readonly kinds: readonly Kind[];
  copy: Copy = new Map();
  /** The states that the lists of its copy have seen, from the first to the last. */
  copied = { from: 0, to: 0 };
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

  /** Follows the feed for as long as it lives. */
  async follow(life: Life): Promise<void> {
    const onReset = () => this.#copyAnew(life);
    for await (const page of life.session.events.follow({ cursor: this.#cursor, ...this.#query(life), onReset })) {
      if (!life.isAlive()) return;
      this.#store(page.events, page.cursor);
    }
  }

  /** Fetches pages until the feed has no more. */
  async catchUp(life: Life): Promise<void> {
    const query = this.#query(life);
    let cursor = this.#cursor;
    for (let more = true; more && life.isAlive();) {
      const page = await life.session.events.list({ cursor, ...query }).catch((error: { code?: string }) => {
        if (error.code !== "cursor_expired") throw error;
      });
      if (page !== undefined && cursor === LATEST) await this.#copyAnew(life);
      if (!life.isAlive()) return;
      if (page !== undefined) this.#store(page.events, page.cursor);
      more = page === undefined || cursor === LATEST || page.more;
      cursor = page === undefined ? LATEST : page.cursor;
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
