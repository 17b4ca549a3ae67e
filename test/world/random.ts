/** Makes the generator of a part of a world, which its names tell. */
export type RandomOf = (...names: (string | number)[]) => Random;

/** Random decisions from a seed. Each part of the world has a generator of its own, so that a change in one part leaves the others. */
export class Random {
  #state: number;

  /** @param names tell which generator of the seed this is. */
  constructor(seed: number, ...names: (string | number)[]) {
    // FNV-1a.
    let hash = 0x811c9dc5 ^ seed;
    for (const character of names.join()) hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193);
    this.#state = hash >>> 0;
    this.next();
  }

  /** From 0 to 1, without 1 (Mulberry32). */
  next = (): number => {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };

  chance(share: number): boolean {
    return this.next() < share;
  }

  /** An integer, with both bounds. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  pick<Item>(items: readonly Item[]): Item {
    if (items.length === 0) throw new Error("There is nothing to choose from");
    return items[Math.floor(this.next() * items.length)] as Item;
  }

  /** One of the names, by its weight. */
  weighted<Name extends string>(weights: { readonly [name in Name]: number }): Name {
    const entries = Object.entries<number>(weights);
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    const [name] = entries.find(([, weight]) => (left -= weight) < 0) ?? this.pick(entries);
    return name as Name;
  }

  /** Milliseconds, mostly short and sometimes as long as the most. */
  delay(least: number, most: number): number {
    return least + (most - least) * this.next() ** 4;
  }

  hex(digits: number): string {
    let text = "";
    while (text.length < digits) text += Math.floor(this.next() * 16).toString(16);
    return text;
  }

  uuid(): string {
    const [a, b, c] = [this.hex(8), this.hex(4), this.hex(12)];
    return `${a}-${b}-4${this.hex(3)}-a${this.hex(3)}-${c}`;
  }
}
