import type { Item } from "./audience.ts";

/** Events, and their characters, that a hub remembers for listeners that come back. */
export const REMEMBERED = 1_000;
const MAX_CHARACTERS = 4 * 2 ** 20;

/** The newest events up to the place of a hub, without a gap, for listeners that come back. */
export class Memory {
  #items: Item[] = [];
  /** The place before them: that of the hub, when there are none. */
  #before: string;

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
    this.#items.push(...items);
    let [over, characters] = [this.#items.length - REMEMBERED, 0];
    for (let index = this.#items.length - 1; index >= over && index >= 0; index--) {
      characters += this.#items[index]?.event?.length ?? 0;
      if (characters > MAX_CHARACTERS) over = index + 1;
    }
    if (over > 0) this.#before = this.#items.splice(0, over).at(-1)?.place ?? this.#before;
  }

  /**
   * Begins at an earlier place. Of places that go further and further back, each would have the hub remember more.
   *
   * @param items all that follow the place.
   * @returns whether they are not too many.
   */
  beginAt(place: string, items: Item[]): boolean {
    if (items.length > 2 * REMEMBERED) return false;
    [this.#items, this.#before] = [items, place];
    return true;
  }
}
