import { and, eq, isNull, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import type { Stored } from "../db/resource.ts";
import { after, type Bounds, inEachOrder, mergedPage, page } from "../db/page.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { pageBounds, pageFields } from "../http/paging.ts";
import { readPage } from "../http/read.ts";
import { int64Parameter, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { type Animal, pet, statusField } from "./shape.ts";
import { type PetStatus, pets } from "./table.ts";

export const MAX_IDS = 100;

export const listPetsQuery = lazy(() =>
  z.object({
    ...pageFields(),
    status: z.optional(statusField()),
    categoryId: z.optional(int64Parameter()),
    id: z.optional(
      parsed<string | string[], Int64[]>(
        toIds,
        rule(
          `1 to ${MAX_IDS} integers from -2^63 to 2^63 - 1, in decimal digits, each in its own parameter (id=2&id=8)`,
        ),
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

type ByStatus = Bounds & { status: PetStatus };
type ByCategory = Bounds & { categoryId: Int64 };

interface ByIds {
  /** One JSON text, because D1 binds a hundred values at most. */
  ids: string;
  limit: number;
  /** Null for a filter that the request omits. */
  categoryId: Int64 | null;
  status: PetStatus | null;
}

const hasStatus = (parameter: Parameter<{ status: PetStatus | null }>) => eq(pets.status, parameter("status"));
const hasCategory = (parameter: Parameter<{ categoryId: Int64 | null }>) =>
  eq(pets.categoryId, parameter("categoryId"));

// Each query reads at most `limit` rows, or one per id, however deep the page is and however rare matches are.
const selects = inEachOrder((sort) => {
  const pageOf = (db: QueryBuilder, parameter: Parameter<Pick<Bounds, "limit">>, ...conditions: (SQL | undefined)[]) =>
    page(db, parameter, pet, and(...conditions), sort);
  return {
    all: compile((db, parameter: Parameter<Bounds>) => pageOf(db, parameter, after(pets, parameter, sort))),
    byStatus: compile((db, parameter: Parameter<ByStatus>) =>
      pageOf(db, parameter, hasStatus(parameter), after(pets, parameter, sort)),
    ),
    byCategoryAndStatus: compile((db, parameter: Parameter<ByCategory & ByStatus>) =>
      pageOf(db, parameter, hasCategory(parameter), hasStatus(parameter), after(pets, parameter, sort)),
    ),
    byCategory: compile((db, parameter: Parameter<ByCategory>) => {
      const ofStatus = (status: PetStatus) =>
        and(hasCategory(parameter), eq(pets.status, status), after(pets, parameter, sort));
      const parts = [ofStatus("available"), ofStatus("pending"), ofStatus("sold")] as const;
      return mergedPage(db, parameter, pet, parts, sort);
    }),
    byIds: compile((db, parameter: Parameter<ByIds>) =>
      pageOf(
        db,
        parameter,
        sql`${pets.id} IN (SELECT value FROM json_each(${parameter("ids")}))`,
        or(isNull(parameter("categoryId")), hasCategory(parameter)),
        or(isNull(parameter("status")), hasStatus(parameter)),
      ),
    ),
  };
});

/** The statement for a page. */
function selectFor(filter: z.infer<ReturnType<typeof listPetsQuery>>): Statement<Stored<Animal>> {
  const { id, categoryId, status, sort = "id" } = filter;
  const select = selects[sort];
  const bounds = pageBounds(filter);
  if (id !== undefined) {
    const first = BigInt(bounds.after);
    const ids = id.filter((one) => (sort === "id" ? BigInt(one) > first : BigInt(one) < first)).join();
    return select.byIds({
      ids: `[${ids}]`,
      limit: bounds.limit,
      categoryId: categoryId ?? null,
      status: status ?? null,
    });
  }
  if (categoryId === undefined)
    return status === undefined ? select.all(bounds) : select.byStatus({ ...bounds, status });
  return status === undefined
    ? select.byCategory({ ...bounds, categoryId })
    : select.byCategoryAndStatus({ ...bounds, categoryId, status });
}

export const listPets = createHandlers(guard("pets:read"), ...readPage("listPets", listPetsQuery, selectFor));
