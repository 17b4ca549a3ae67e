import type { Animal, NewPet } from "./shapes.ts";
import { stringifyExact } from "./json.ts";
import type { CreateOptions } from "./requests.ts";

/** As many animals, and bytes, as the service takes in one request. */
const MAX_COUNT = 100;
const MAX_BYTES = 64 * 1024;

/** Options of a creation of many animals. */
export interface CreateManyOptions extends CreateOptions {
  /** Is told each batch after its creation. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** How far a creation of many animals is. */
export interface Progress {
  /** The number of animals that exist now, of this batch and of those before it. */
  created: number;
  /** The animals of this batch. */
  animals: Animal[];
}

/** Cuts animals into batches. The same animals are always cut in the same places. */
export async function* batchesOf(pets: Iterable<NewPet> | AsyncIterable<NewPet>): AsyncGenerator<NewPet[]> {
  const encoder = new TextEncoder();
  let batch: NewPet[] = [];
  // A bracket comes first, and a comma or the other bracket follows each animal.
  let bytes = 1;
  for await (const pet of pets) {
    const more = encoder.encode(stringifyExact(pet)).byteLength + 1;
    if (batch.length > 0 && bytes + more > MAX_BYTES) {
      yield batch;
      [batch, bytes] = [[], 1];
    }
    batch.push(pet);
    bytes += more;
    // A full batch does not wait for the next animal, which may come late or never.
    if (batch.length === MAX_COUNT) {
      yield batch;
      [batch, bytes] = [[], 1];
    }
  }
  if (batch.length > 0) yield batch;
}
