import { and, eq, isNull, or, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { after, type Bounds, inEachOrder, mergedPage, page, type Sort } from "../db/page.ts";
import { compile, type Parameter, type Statement } from "../db/statement.ts";
import { type Int64, isInt64 } from "../exact/int64.ts";
import { isText } from "../exact/text.ts";
import { createHandlers } from "../operation.ts";
import { pageBounds, pageFields, toPage } from "../http/paging.ts";
import { readPage } from "../http/read.ts";
import { CUSTOMER, int64Parameter, listParameter, parameterRule, parsed } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { candidates } from "./candidates.ts";
import { needlesOf } from "./fold.ts";
import { pet, statusField } from "./shape.ts";
import { PET_STATUSES, type PetStatus, pets } from "./table.ts";
import {
  type Candidate,
  hasWords,
  MAX_SEARCH_CHARACTERS,
  pageOfSearch,
  parametersOf,
  type Terms,
  type Words,
} from "./search.ts";

export const MAX_IDS = 100;

/** A text as a list of one: `KnownQueries` does not remember lists, and these texts differ with each request. */
const rareText = (keeps: (text: string) => boolean, text: string) =>
  parsed<string, string[]>(
    (value) => (typeof value === "string" && keeps(value) ? [value] : undefined),
    parameterRule(text),
  );

export const listPetsQuery = lazy(() =>
  z
    .strictObject({
      ...pageFields(),
      status: z.optional(statusField(parameterRule)),
      categoryId: z.optional(int64Parameter()),
      id: listParameter<Int64, string>(
        toIds,
        `1 to ${MAX_IDS} integers from -2^63 to 2^63 - 1, in decimal digits (id=2&id=8)`,
      ),
      q: z.optional(
        rareText(
          (text) => isText(text, MAX_SEARCH_CHARACTERS),
          `at most ${MAX_SEARCH_CHARACTERS} well-formed characters`,
        ),
      ),
      externalId: z.optional(rareText((text) => CUSTOMER.test(text), "1 to 255 visible ASCII characters")),
    })
    .check(({ value: { externalId, id, q }, issues }) => {
      if (externalId !== undefined && (id !== undefined || q !== undefined))
        issues.push({ code: "custom", path: ["externalId"], message: "cannot be beside id or q", input: undefined });
    }),
);
type Filter = z.infer<ReturnType<typeof listPetsQuery>>;

function toIds(value: unknown): Int64[] | undefined {
  const ids = [value].flat();
  return ids.length <= MAX_IDS && ids.every((id): id is Int64 => typeof id === "string" && isInt64(id))
    ? ids
    : undefined;
}

interface ByStatus {
  status: PetStatus;
}

interface ByCategory {
  categoryId: Int64;
}

/** Null for a filter that the request omits. */
interface Others {
  categoryId: Int64 | null;
  status: PetStatus | null;
}

interface ByIds extends Others {
  /** One JSON text, because D1 binds at most 100 values (docs/standards.md). */
  ids: string;
  limit: number;
}

interface ByExternalId extends Others, Bounds {
  externalId: string;
}

const hasStatus = (parameter: Parameter<{ status: PetStatus | null }>) => eq(pets.status, parameter("status"));
const hasCategory = (parameter: Parameter<{ categoryId: Int64 | null }>) =>
  eq(pets.categoryId, parameter("categoryId"));

const hasOthers = (parameter: Parameter<Others>) =>
  and(
    or(isNull(parameter("categoryId")), hasCategory(parameter)),
    or(isNull(parameter("status")), hasStatus(parameter)),
  );

/** The conditions of a filter. The animals of each list of them are in the order of ids in an index, and in no other list. */
type Parts<Values> = (parameter: Parameter<Values>) => SQL[][];

/**
 * The statements of a filter. A page reads at most `limit` rows, however deep it is and however rare matches are.
 *
 * @param filter its name.
 */
function compileListing<Values>(filter: string, sort: Sort, partsOf: Parts<Values>) {
  const parts = (parameter: Parameter<Values & Bounds>) =>
    partsOf(parameter as never).map((conditions) => and(...conditions, after(pets, parameter as never, sort)));
  return {
    page: compile(`listPets.${filter}.${sort}`, (db, parameter: Parameter<Values & Bounds>) => {
      const [first, second, ...others] = parts(parameter);
      return second === undefined
        ? page(db, parameter as never, pet, first, sort)
        : mergedPage(db, parameter as never, pet, [first, second, ...others], sort);
    }),
    search: compile(
      `listPets.${filter}.search.${sort}`,
      (db, parameter: Parameter<Values & Bounds & Words & Terms>) => {
        const filter = or(...partsOf(parameter as never).map((conditions) => and(...conditions)));
        return candidates(db, parameter as never, parts(parameter), filter, sort);
      },
    ),
  };
}

const selects = inEachOrder((sort) => ({
  all: compileListing<unknown>("all", sort, () => [[]]),
  byStatus: compileListing<ByStatus>("byStatus", sort, (parameter) => [[hasStatus(parameter)]]),
  byCategoryAndStatus: compileListing<ByCategory & ByStatus>("byCategoryAndStatus", sort, (parameter) => [
    [hasCategory(parameter), hasStatus(parameter)],
  ]),
  byCategory: compileListing<ByCategory>("byCategory", sort, (parameter) =>
    PET_STATUSES.map((status) => [hasCategory(parameter), eq(pets.status, status)]),
  ),
  // At most one row per id.
  byIds: compile(`listPets.byIds.${sort}`, (db, parameter: Parameter<ByIds>) =>
    page(
      db,
      parameter,
      pet,
      and(sql`${pets.id} IN (SELECT value FROM json_each(${parameter("ids")}))`, hasOthers(parameter)),
      sort,
    ),
  ),
  // At most one row.
  byExternalId: compile(`listPets.byExternalId.${sort}`, (db, parameter: Parameter<ByExternalId>) =>
    page(
      db,
      parameter,
      pet,
      and(eq(pets.externalId, parameter("externalId")), hasOthers(parameter), after(pets, parameter, sort)),
      sort,
    ),
  ),
}));

/** The statement for a page, or for the candidates of a search. A search without a word reads no row. */
function selectFor(filter: Filter): Statement<Candidate> {
  const { categoryId, status, q, externalId, sort = "id" } = filter;
  const select = selects[sort];
  const bounds = pageBounds(filter);
  const others = { categoryId: categoryId ?? null, status: status ?? null };
  if (externalId !== undefined) return select.byExternalId({ ...bounds, ...others, externalId: externalId.join() });
  const needles = q && needlesOf(q.join());
  const id = needles?.length === 0 ? [] : filter.id;
  if (id !== undefined) {
    const first = BigInt(bounds.after);
    const ids = id.filter((one) => (sort === "id" ? BigInt(one) > first : BigInt(one) < first)).join();
    return select.byIds({
      ids: `[${ids}]`,
      // Of no id, `json_each` would read one.
      limit: ids === "" ? 0 : q === undefined ? bounds.limit : MAX_IDS,
      ...others,
    });
  }
  const run = <Values>({ page, search }: ReturnType<typeof compileListing<Values>>, values: Values & Bounds) =>
    needles === undefined ? page(values) : search({ ...values, ...parametersOf(needles) });
  if (categoryId === undefined)
    return status === undefined ? run(select.all, bounds) : run(select.byStatus, { ...bounds, status });
  return status === undefined
    ? run(select.byCategory, { ...bounds, categoryId })
    : run(select.byCategoryAndStatus, { ...bounds, categoryId, status });
}

function pageOf(filter: Filter, rows: Candidate[]) {
  const { q, id } = filter;
  if (q === undefined) return toPage(filter, rows);
  const needles = needlesOf(q.join());
  if (id === undefined) return pageOfSearch(filter, needles, rows);
  const found = rows.filter((row) => hasWords(row, needles));
  return toPage(filter, found);
}

export const listPets = createHandlers(
  guard("pets:read", "pets:read"),
  ...readPage("listPets", listPetsQuery, selectFor, pageOf),
);
