import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { type Attempt, isFirstAttempt, recall, remember } from "../db/idempotency.ts";
import { type PetStatus, pets } from "../db/schema.ts";
import type { Session } from "../db/session.ts";
import { compile, exact, queryBuilder } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../int64.ts";

/** An animal as the database holds it. */
export interface Pet {
  id: Int64;
  name: string;
  categoryId: Int64;
  status: PetStatus;
}

const columns = {
  id: exact(pets.id).as("id"),
  name: pets.name,
  categoryId: exact(pets.categoryId).as("categoryId"),
  status: pets.status,
};

const parameter = sql.placeholder;
// Before the first id: AUTOINCREMENT counts from 1.
const START = "0" as Int64;

const after = gt(pets.id, parameter("after"));
const page = (where: SQL | undefined) =>
  queryBuilder.select(columns).from(pets).where(where).orderBy(asc(pets.id)).limit(parameter("limit"));

const selectPage = compile<{ after: Int64; limit: number }, Pet>(() => page(after));
const selectPageByStatus = compile<{ after: Int64; limit: number; status: PetStatus }, Pet>(() =>
  page(and(eq(pets.status, parameter("status")), after)),
);

/**
 * Up to `limit` animals in ascending order of id, those with ids above `after`. Reads no more than `limit` rows, however
 * deep the page lies and however rare the status is.
 */
export async function listPets(
  session: Session,
  { after = START, limit, status }: { after?: Int64 | undefined; limit: number; status?: PetStatus | undefined },
): Promise<Pet[]> {
  return status === undefined
    ? session.read(selectPage({ after, limit }))
    : session.read(selectPageByStatus({ after, limit, status }));
}

const selectPet = compile<{ id: Int64 }, Pet>(() =>
  queryBuilder
    .select(columns)
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export async function findPet(session: Session, id: Int64): Promise<Pet | undefined> {
  const [pet] = await session.read(selectPet({ id }));
  return pet;
}

export type NewPet = Omit<Pet, "id">;

const insertPet = compile<NewPet & Record<string, unknown>, Pick<Pet, "id">>(() =>
  queryBuilder
    .insert(pets)
    .values({ name: parameter("name"), categoryId: parameter("categoryId"), status: parameter("status") })
    .returning({ id: columns.id }),
);

/** Adds an animal, whatever was added before. */
export async function createPet(session: Session, pet: NewPet): Promise<Pet> {
  const [row] = await session.write(insertPet(pet));
  if (row === undefined) throw new Error("INSERT ... RETURNING returned no row");
  return { id: row.id, ...pet };
}

const insertPetOnce = compile<NewPet & Attempt, Pick<Pet, "id">>(() =>
  queryBuilder
    .insert(pets)
    .select(
      queryBuilder
        .select({
          id: sql`NULL`.as("id"),
          name: sql`${parameter("name")}`.as("name"),
          categoryId: sql`${parameter("categoryId")}`.as("categoryId"),
          status: sql`${parameter("status")}`.as("status"),
        })
        .from(sql`(SELECT 1)`)
        .where(isFirstAttempt),
    )
    .returning({ id: columns.id }),
);

/** The body of the response to a creation, as `toAnimal` and JSON.stringify write it. */
const rememberPet = remember(
  pets,
  pets.id,
  sql`json_object('id', ${pets.id}, 'name', ${pets.name}, 'categoryId', ${pets.categoryId}, 'status', ${pets.status})`,
);

/** What came of a creation under an `Idempotency-Key`. */
export interface Creation {
  id: Int64;
  /** The body of the first response. Null when version 1.0.0 created the animal: the same request then tells what it was. */
  response: string | null;
  replayed: boolean;
}

/**
 * Adds an animal once: when an earlier request with this `Idempotency-Key` did, it is the response to that.
 *
 * @throws ApiError `idempotency_key_reused` when the key came with another request.
 */
export async function createPetOnce(session: Session, pet: NewPet, attempt: Attempt): Promise<Creation> {
  const [[inserted], , [known]] = await session.writeRepeatably([
    insertPetOnce({ ...pet, ...attempt }),
    rememberPet(attempt),
    recall(attempt),
  ]);
  if (known === undefined) throw new Error("The idempotency key was not remembered");
  if (known.fingerprint !== attempt.fingerprint) {
    throw new ApiError("idempotency_key_reused", "This Idempotency-Key came before, with another request.");
  }
  return { id: known.resourceId, response: known.response, replayed: inserted === undefined };
}
