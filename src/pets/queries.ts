import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { type PET_STATUSES, pets } from "../db/schema.ts";
import type { Session } from "../db/session.ts";
import { compile, exact, queryBuilder } from "../db/statement.ts";
import type { Int64 } from "../int64.ts";

export type PetStatus = (typeof PET_STATUSES)[number];

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

const selectPage = compile<{ after: Int64; limit: number }, Pet>(page(after));
const selectPageByStatus = compile<{ after: Int64; limit: number; status: PetStatus }, Pet>(
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
    ? session.read(selectPage, { after, limit })
    : session.read(selectPageByStatus, { after, limit, status });
}

const selectPet = compile<{ id: Int64 }, Pet>(
  queryBuilder
    .select(columns)
    .from(pets)
    .where(eq(pets.id, parameter("id"))),
);

export async function findPet(session: Session, id: Int64): Promise<Pet | undefined> {
  const [pet] = await session.read(selectPet, { id });
  return pet;
}

const insertPet = compile<Omit<Pet, "id">, Pick<Pet, "id">>(
  queryBuilder
    .insert(pets)
    .values({ name: parameter("name"), categoryId: parameter("categoryId"), status: parameter("status") })
    .returning({ id: columns.id }),
);

export async function createPet(session: Session, pet: Omit<Pet, "id">): Promise<Pet> {
  const [row] = await session.write(insertPet, pet);
  if (row === undefined) throw new Error("INSERT ... RETURNING returned no row");
  return { id: row.id, ...pet };
}
