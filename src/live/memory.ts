import type { Item } from "./audience.ts";
import type { Feed } from "./feed.ts";

/** Events, and their characters, that a hub remembers for listeners that come back. */
const REMEMBERED = 1_000;
const MAX_CHARACTERS = 4 * 2 ** 20;

/** The newest events up to the place of a hub, without a gap, for listeners that come back. */
export class Memory {
  #items: Item[] = [];
  #characters = 0;
  /** The place before them: that of the hub, when there are none. */
  #before: string;
  #recalled: Promise<void> | undefined;

  constructor(place: string) {
    this.#before = place;
  }

  /** The events after a place. Undefined when it is none of these places. */
  since(place: string): Item[] | undefined {
    if (place === this.#before) return this.#items;
    const index = this.#items.findIndex((item) => item.place === place);
    return index === -1 ? undefined : this.#items.slice(index + 1);
  }

  /** Takes in what follows. */
  add(items: readonly Item[]): void {
    for (const item of items) {
      this.#items.push(item);
      this.#characters += item.event?.length ?? 0;
    }
    while (this.#items.length > REMEMBERED || this.#characters > MAX_CHARACTERS) {
      const { place, event } = this.#items.shift() as Item;
      this.#before = place;
      this.#characters -= event?.length ?? 0;
    }
  }

  /** Reads what it has not seen because the hub slept, once for all who come back. */
  recall(feed: Feed): Promise<void> {
    return (this.#recalled ??= this.#recall(feed).catch((error: unknown) => {
      this.#recalled = undefined;
      throw error;
    }));
  }

  async #recall(feed: Feed): Promise<void> {
    const before = this.#before;
    const [first, ...older] = await feed.before(before, REMEMBERED);
    // It may have forgotten the place meanwhile, for as many newer ones.
    if (first === undefined || before !== this.#before) return;
    const newer = this.#items;
    [this.#items, this.#characters, this.#before] = [[], 0, first.place];
    this.add([...older, ...newer]);
  }
}
