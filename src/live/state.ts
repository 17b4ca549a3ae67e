/** What a hub keeps for the time after its hibernation. */
interface Kept {
  name: string;
  /** Up to where it has told its listeners. Empty before the first look. */
  place: string;
  /** When it was registered, in milliseconds since the epoch. 0 while it is not. */
  registeredAt: number;
}
const KEY = "live";

/** What a hub knows of itself. */
export class State {
  readonly #storage: DurableObjectStorage;
  now: Readonly<Kept>;

  private constructor(storage: DurableObjectStorage, kept: Kept) {
    [this.#storage, this.now] = [storage, kept];
  }

  /** That of an object, if it is a hub. */
  static of({ storage }: DurableObjectState): State | undefined {
    const kept = storage.kv.get<Kept>(KEY);
    return kept && new State(storage, kept);
  }

  /** That of a new hub. */
  static named({ storage }: DurableObjectState, name: string): State {
    const state = new State(storage, { name, place: "", registeredAt: 0 });
    state.keep({});
    return state;
  }

  keep(changed: Partial<Kept>): void {
    this.now = { ...this.now, ...changed };
    this.#storage.kv.put(KEY, this.now);
  }
}
