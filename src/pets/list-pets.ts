import { and, eq, isNull, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { after, type Bounds, mergedPage, page } from "../db/page.ts";
import { compile, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { openSession } from "../http/bookmark.ts";
import { int64Parameter, parsed, query, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { type Pet, petColumns, statusField, toAnimal } from "./pet.ts";
import { type PetStatus, pets } from "./table.ts";

export const MAX_IDS = 100;

/** Other parameters are ignored. */
export const listPetsQuery = lazy(() =>
  z.object({
    ...pageFields(),
    status: z.optional(statusField()),
    categoryId: z.optional(int64Parameter()),
    id: z.optional(
      parsed<string | string[], Int64[]>(
        toIds,
        rule(`1 to ${MAX_IDS} integers from -2^63 to 2^63 - 1, in decimal digits`),
      ),
    ),
  }),
);

function toIds(value: unknown): Int64[] | undefined {
  const ids = [value].flat();
  return ids.length <= MAX_IDS && ids.every((id): id is Int64 => typeof id === "string" && isInt64(id))
    ? ids
    : undefined;
}

const parameter = sql.placeholder;
const hasStatus = (status: PetStatus | Placeholder = parameter("status")) => eq(pets.status, status);
const hasCategory = () => eq(pets.categoryId, parameter("categoryId"));
const pageOf = (db: QueryBuilder, where: SQL | undefined) => page(db, pets, petColumns(), where);

// Each reads no more rows than its limit, or than there are ids, however deep the page lies and however rare the filter's match is.
const selectPage = compile<Bounds, Pet>((db) => pageOf(db, after(pets)));
const selectByStatus = compile<Bounds & { status: PetStatus }, Pet>((db) => pageOf(db, and(hasStatus(), after(pets))));
const selectByCategoryAndStatus = compile<Bounds & { categoryId: Int64; status: PetStatus }, Pet>((db) =>
  pageOf(db, and(hasCategory(), hasStatus(), after(pets))),
);
const selectByCategory = compile<Bounds & { categoryId: Int64 }, Pet>((db) => {
  const ofStatus = (status: PetStatus) => and(hasCategory(), hasStatus(status), after(pets));
  return mergedPage(db, pets, petColumns(), [ofStatus("available"), ofStatus("pending"), ofStatus("sold")]);
});
/** A null stands for a filter that is not asked for. The ids are one JSON text, because D1 binds a hundred values at most. */
const selectByIds = compile<{ ids: string; limit: number; categoryId: Int64 | null; status: PetStatus | null }, Pet>(
  (db) =>
    pageOf(
      db,
      and(
        sql`${pets.id} IN (SELECT value FROM json_each(${parameter("ids")}))`,
        or(isNull(parameter("categoryId")), hasCategory()),
        or(isNull(parameter("status")), hasStatus()),
      ),
    ),
);

/** The statement for a page. */
function selectFor({ id, categoryId, status, ...paging }: z.infer<ReturnType<typeof listPetsQuery>>): Statement<Pet> {
  const bounds = pageBounds(paging);
  if (id !== undefined) {
    const ids = id.filter((one) => BigInt(one) > BigInt(bounds.after)).join();
    return selectByIds({
      ids: `[${ids}]`,
      limit: bounds.limit,
      categoryId: categoryId ?? null,
      status: status ?? null,
    });
  }
  if (categoryId === undefined)
    return status === undefined ? selectPage(bounds) : selectByStatus({ ...bounds, status });
  return status === undefined
    ? selectByCategory({ ...bounds, categoryId })
    : selectByCategoryAndStatus({ ...bounds, categoryId, status });
}

export const listPets = createFactory<AppEnv>().createHandlers(guard("pets:read"), query(listPetsQuery), async (c) => {
  const filter = c.req.valid("query");
  const rows = await openSession(c).read(selectFor(filter));
  return respondWithPage(c, filter, rows, toAnimal);
});
