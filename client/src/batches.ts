import type { Answer } from "./answer.ts";
import type { Call } from "./connection.ts";
import { type Fields, fits } from "./fields.ts";
import { toDigits } from "./int64.ts";
import { stringifyExact } from "./json.ts";
import { checkHeader } from "./options.ts";
import { checkFirstUsed, type CreateOptions } from "./requests.ts";
import type { Animal, NewPet, PetChange, VersionedAnimal } from "./shapes.ts";

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

/** Options of many changes. */
export interface UpdateManyOptions extends CreateOptions {
  /** Is told each batch after its changes. */
  onProgress?: ((progress: UpdateProgress) => void) | undefined;
}

/** How far many changes are. */
export interface UpdateProgress {
  /** The number of changes that are made now, of this batch and of those before it. */
  done: number;
  /** The animals of this batch, as they are now. */
  animals: VersionedAnimal[];
}

/**
 * Cuts items into batches. The same items are always cut in the same places.
 *
 * @param idOf the id of an item that a batch may have once.
 */
async function* batchesOf<Item extends NewPet | PetChange>(
  items: Iterable<Item> | AsyncIterable<Item>,
  idOf: (item: Item) => string | undefined,
): AsyncGenerator<Item[]> {
  const encoder = new TextEncoder();
  let batch: Item[] = [];
  let ids = new Set<string>();
  // A bracket comes first, and a comma or the other bracket follows each item.
  let bytes = 1;
  for await (const item of items) {
    const more = encoder.encode(stringifyExact(item)).byteLength + 1;
    const id = idOf(item);
    if (batch.length > 0 && (bytes + more > MAX_BYTES || (id !== undefined && ids.has(id)))) {
      yield batch;
      [batch, ids, bytes] = [[], new Set(), 1];
    }
    batch.push(item);
    if (id !== undefined) ids.add(id);
    bytes += more;
    // A full batch does not wait for the next item, which may come late or never.
    if (batch.length === MAX_COUNT) {
      yield batch;
      [batch, ids, bytes] = [[], new Set(), 1];
    }
  }
  if (batch.length > 0) yield batch;
}

/**
 * Sends items in batches, each once under a key of its own.
 *
 * @param count the name of the number of items that are done, in the progress and in an error.
 * @returns the number of items.
 */
export async function sendBatches<Item extends NewPet | PetChange, Count extends "created" | "done", Result>(
  pets: { send(call: Call): Promise<Answer> },
  request: { operation: "createPets"; method: "POST" } | { operation: "updatePets"; method: "PATCH" },
  items: Iterable<Item> | AsyncIterable<Item>,
  {
    idempotencyKey = crypto.randomUUID(),
    firstUsed = new Date(),
    onProgress,
    ...options
  }: CreateOptions & { onProgress?: ((progress: Record<Count, number> & { animals: Result[] }) => void) | undefined },
  fields: Fields,
  count: Count,
): Promise<number> {
  // The keys of the batches would hide that it is empty.
  checkHeader("Idempotency-Key", idempotencyKey);
  let done = 0;
  // An id of a new animal is ignored.
  const idOf = (item: Item) => (count === "done" && "id" in item ? toDigits(item.id) : undefined);
  for await (const body of batchesOf(items, idOf)) {
    checkFirstUsed(firstUsed, { idempotencyKey, [count]: done });
    const expects = (value: unknown): boolean =>
      Array.isArray(value) && value.length === body.length && value.every(fits(fields));
    const headers = { "Content-Type": "application/json", "Idempotency-Key": `${idempotencyKey}-${done}` };
    const path = "/pets/batch";
    const call = { ...options, ...request, path, body, headers, idempotencyKey, [count]: done, expects };
    const { value } = await pets.send(call);
    done += body.length;
    onProgress?.({ [count]: done, animals: value } as Record<Count, number> & { animals: Result[] });
  }
  return done;
}
