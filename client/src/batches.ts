import { type Answer, warningsOf } from "./answer.ts";
import { limit } from "./attempt.ts";
import type { Call } from "./connection.ts";
import { type Fields, fits } from "./fits.ts";
import { toDigits } from "./int64.ts";
import { stringifyExact } from "./json.ts";
import { checkHeader, type RequestOptions } from "./options.ts";
import { checkFirstUsed, type CreateOptions } from "./requests.ts";
import type { Animal, ImportedPet, NewPet, PetChange, UpsertedAnimal, VersionedAnimal } from "./shapes.ts";

type Sendable = NewPet | PetChange | ImportedPet;

/** As many animals, and bytes, as the service takes in one request. */
const MAX_COUNT = 100;
const MAX_BYTES = 64 * 1024;

/** What the caller is told of each batch. */
interface Told<Item> {
  /** The animals of this batch, as they are now. */
  animals: Item[];
  /** The names of the fields of this batch that the service ignored, 20 at most. */
  warnings: string[];
}

/** How far a creation of many animals is. */
export interface Progress extends Told<Animal> {
  /** The number of animals that exist now, of this batch and of those before it. */
  created: number;
}

/** How far many changes are. */
export interface UpdateProgress extends Told<VersionedAnimal> {
  /** The number of changes that are made now, of this batch and of those before it. */
  done: number;
}

/** How far an import is. */
export interface UpsertProgress extends Told<UpsertedAnimal> {
  /** The number of animals that are as the source has them, of this batch and of those before it. */
  done: number;
}

interface Telling<Progress> {
  /** Is told each batch after its response. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Options of a creation of many animals. */
export type CreateManyOptions = CreateOptions & Telling<Progress>;

/** Options of many changes. */
export type UpdateManyOptions = CreateOptions & Telling<UpdateProgress>;

/** Options of an import. */
export type UpsertManyOptions = RequestOptions & Telling<UpsertProgress>;

/**
 * Cuts items into batches. The same items are always cut in the same places.
 *
 * @param idOf the id of an item that a batch may have once.
 */
async function* batchesOf<Item extends Sendable>(
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

/** The request of a batch. One that may be sent again leaves the same state, and has no key. */
type Request =
  | { operation: "createPets"; method: "POST" }
  | { operation: "updatePets"; method: "PATCH" }
  | { operation: "importPets"; method: "PUT" };

/**
 * Sends items in batches, each once under a key of its own, or as often as needed.
 *
 * @param count the name of the number of items that are done, in the progress and in an error.
 * @returns the number of items.
 */
export async function sendBatches<Item extends Sendable, Count extends "created" | "done", Result>(
  pets: { send(call: Call): Promise<Answer> },
  request: Request,
  items: Iterable<Item> | AsyncIterable<Item>,
  {
    idempotencyKey: given,
    firstUsed = new Date(),
    onProgress,
    ...options
  }: CreateOptions & Telling<Record<Count, number> & Told<Result>>,
  fields: Fields,
  count: Count,
): Promise<number> {
  const idempotencyKey = request.method === "PUT" ? undefined : (given ?? crypto.randomUUID());
  // The keys of the batches would hide that it is empty.
  if (idempotencyKey !== undefined) checkHeader("Idempotency-Key", idempotencyKey);
  let done = 0;
  // An id of a new animal is ignored.
  const idOf = (item: Item) => (request.method === "PATCH" && "id" in item ? toDigits(item.id) : undefined);
  const send = async (): Promise<number> => {
    for await (const body of batchesOf(items, idOf)) {
      if (idempotencyKey !== undefined) checkFirstUsed(firstUsed, { idempotencyKey, [count]: done });
      const expects = (value: unknown): boolean =>
        Array.isArray(value) && value.length === body.length && value.every(fits(fields));
      const headers = {
        "Content-Type": "application/json",
        "Idempotency-Key": idempotencyKey && `${idempotencyKey}-${done}`,
      };
      const call = {
        ...options,
        ...request,
        path: "/pets/batch",
        body,
        headers,
        idempotencyKey,
        [count]: done,
        expects,
      };
      const { value, headers: received } = await pets.send(call);
      done += body.length;
      const told: object = { [count]: done, animals: value, warnings: warningsOf(received) };
      onProgress?.(told as Record<Count, number> & Told<Result>);
    }
    return done;
  };
  // The signal ends it also while the source has nothing. The source is closed when it has something.
  return (await limit(send, Infinity, options.signal)) as number;
}
