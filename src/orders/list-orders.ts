import { and, eq, gt, gte, lt, lte, type SQL, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import type { Stored } from "../db/resource.ts";
import { inEachOrder, mergedPage, page } from "../db/page.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { withSubqueries } from "../db/subquery.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { FIRST, LAST, shifted } from "../exact/timestamp.ts";
import { createHandlers } from "../operation.ts";
import { pageBounds, pageFields } from "../http/paging.ts";
import { readPage } from "../http/read.ts";
import { customerField, int64Parameter, nameField, oneOf, parameterRule, timeParameter } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { checkCustomer, type Order, order } from "./order.ts";
import { isActive, isCancelled, ORDER_STATUSES, orders, type OrderStatus } from "./table.ts";

export const listOrdersQuery = lazy(() =>
  z
    .strictObject({
      ...pageFields(),
      status: z.optional(oneOf(ORDER_STATUSES, parameterRule)),
      petId: z.optional(int64Parameter()),
      reference: z.optional(nameField(parameterRule)),
      customer: z.optional(customerField(parameterRule)),
      createdAfter: z.optional(timeParameter()),
      createdBefore: z.optional(timeParameter()),
    })
    .check(({ value: { petId, reference, customer }, issues }) => {
      const refuse = (field: string, others: string) =>
        issues.push({ code: "custom", path: [field], message: `cannot be beside ${others}`, input: undefined });
      if (petId !== undefined && reference !== undefined) refuse("reference", "petId");
      if (customer !== undefined && (petId !== undefined || reference !== undefined))
        refuse("customer", "petId or reference");
    }),
);

/** An id, or the statement that finds it. */
type Bound = Int64 | Statement<unknown>;

/** The orders of a page: after the first id, up to the last one, from the first time on and before the last one. */
interface Part {
  first: Bound;
  last: Bound;
  createdAfter: string;
  createdBefore: string;
  limit: number;
}
type ByStatus = Part & { status: OrderStatus };
type ByPet = Part & { petId: Int64 };
type ByReference = Part & { reference: string };
type ByCustomer = Part & { customer: string };

const hasStatus = (parameter: Parameter<ByStatus>) => eq(orders.status, parameter("status"));
const hasPet = (parameter: Parameter<ByPet>) => eq(orders.petId, parameter("petId"));
const hasCustomer = (parameter: Parameter<ByCustomer>) => eq(orders.customer, parameter("customer"));
const hasReference = (parameter: Parameter<ByReference>) => eq(orders.reference, parameter("reference"));

const isWithin = (parameter: Parameter<Part>) =>
  and(
    gt(orders.id, parameter("first")),
    lte(orders.id, parameter("last")),
    gte(orders.createdAt, parameter("createdAfter")),
    lt(orders.createdAt, parameter("createdBefore")),
  );

// Each query reads at most `limit` rows, however deep the page is and however rare matches are.
const selects = inEachOrder((sort) => {
  const pageOf = (db: QueryBuilder, parameter: Parameter<Part>, ...conditions: SQL[]) =>
    page(db, parameter, order, and(...conditions, isWithin(parameter)), sort);
  const inEachStatus = (db: QueryBuilder, parameter: Parameter<Part>, condition: SQL) => {
    const ofStatus = (status: OrderStatus) => and(condition, eq(orders.status, status), isWithin(parameter));
    const parts = [ofStatus("placed"), ofStatus("shipped"), ofStatus("cancelled")] as const;
    return mergedPage(db, parameter, order, parts, sort);
  };
  return {
    all: compile(`listOrders.all.${sort}`, (db, parameter: Parameter<Part>) => pageOf(db, parameter)),
    byStatus: compile(`listOrders.byStatus.${sort}`, (db, parameter: Parameter<ByStatus>) =>
      pageOf(db, parameter, hasStatus(parameter)),
    ),
    cancelledOfPet: compile(`listOrders.cancelledOfPet.${sort}`, (db, parameter: Parameter<ByPet>) =>
      pageOf(db, parameter, hasPet(parameter), isCancelled()),
    ),
    // The only order that can match. Its status may differ.
    activeOfPet: compile(`listOrders.activeOfPet.${sort}`, (db, parameter: Parameter<ByPet & ByStatus>) =>
      pageOf(db, parameter, hasPet(parameter), isActive(), hasStatus(parameter)),
    ),
    byPet: compile(`listOrders.byPet.${sort}`, (db, parameter: Parameter<ByPet>) => {
      const ofPet = (isOne: () => SQL) => and(hasPet(parameter), isOne(), isWithin(parameter));
      return mergedPage(db, parameter, order, [ofPet(isActive), ofPet(isCancelled)], sort);
    }),
    byReferenceAndStatus: compile(
      `listOrders.byReferenceAndStatus.${sort}`,
      (db, parameter: Parameter<ByReference & ByStatus>) =>
        pageOf(db, parameter, hasReference(parameter), hasStatus(parameter)),
    ),
    byReference: compile(`listOrders.byReference.${sort}`, (db, parameter: Parameter<ByReference>) =>
      inEachStatus(db, parameter, hasReference(parameter)),
    ),
    byCustomerAndStatus: compile(
      `listOrders.byCustomerAndStatus.${sort}`,
      (db, parameter: Parameter<ByCustomer & ByStatus>) =>
        pageOf(db, parameter, hasCustomer(parameter), hasStatus(parameter)),
    ),
    byCustomer: compile(`listOrders.byCustomer.${sort}`, (db, parameter: Parameter<ByCustomer>) =>
      inEachStatus(db, parameter, hasCustomer(parameter)),
    ),
  };
});

/** Before the first id, and the last one. */
const [BEFORE_ALL, LAST_ID] = ["0" as Int64, "9223372036854775807" as Int64];
/** Ids ascend with time, but for what a clock was set back. */
const CLOCK_MILLISECONDS = 60_000;

/**
 * The id of the last order before a time, from `least` to `most`. Times have no index, which would cost each placement a row. A binary search
 * over the ids reads two rows for each bit of the largest one: a step looks at the first order of the upper half of the ids that are left.
 */
const selectLastBefore = compile(
  "listOrders.lastBefore",
  (db, parameter: Parameter<{ time: string; least: Int64; most: Int64 }>) => {
    const upper = sql`last + rest - rest / 2`;
    const search = sql`(WITH search(last, rest) AS (SELECT 0, max(${orders.id}) FROM ${orders} UNION ALL
      SELECT iif((SELECT ${orders.createdAt} < ${parameter("time")} FROM ${orders} WHERE ${orders.id} >= ${upper} ORDER BY ${orders.id} LIMIT 1),
        ${upper}, last), rest / 2 FROM search WHERE rest > 0)
      SELECT last FROM search WHERE rest = 0) AS search`;
    const [least, most] = [parameter("least"), parameter("most")].map((id) => sql`CAST(${id} AS INTEGER)`);
    return db.select({ last: sql`min(max(last, ${least}), ${most})`.as("last") }).from(search);
  },
);

/** The part of the orders that a page begins with. Both bounds are one condition each: SQLite uses no second one of a kind. */
function partOf(filter: Filter): Part {
  const { createdAfter, createdBefore, sort = "id" } = filter;
  const { after, limit } = pageBounds(filter);
  const [least, most] = sort === "id" ? [after, LAST_ID] : [BEFORE_ALL, String(BigInt(after) - 1n) as Int64];
  const bound = (time: string | undefined, otherwise: Int64, milliseconds: number) =>
    time === undefined ? otherwise : selectLastBefore({ time: shifted(time, milliseconds), least, most });
  return {
    first: bound(createdAfter, least, -CLOCK_MILLISECONDS),
    last: bound(createdBefore, most, CLOCK_MILLISECONDS),
    createdAfter: createdAfter ?? FIRST,
    createdBefore: createdBefore ?? LAST,
    limit,
  };
}

type Filter = z.infer<ReturnType<typeof listOrdersQuery>>;

/**
 * The filter of a request of a customer, who sees no other orders. Beside the customer, `petId` and `reference` would read rows of others.
 *
 * @throws ApiError `invalid_request`
 */
function ofCustomer(filter: Filter, customer: string): Filter {
  if (filter.petId !== undefined || filter.reference !== undefined)
    throw new ApiError("invalid_request", "petId and reference are not for customer tokens.");
  checkCustomer(filter.customer, customer);
  return { ...filter, customer };
}

/** The statement for a page, of a customer if there is one. */
const selectFor = (filter: Filter, ofToken: string | null): Statement<Stored<Order>> =>
  withSubqueries(selectPart(filter, ofToken));

function selectPart(asked: Filter, ofToken: string | null): Statement<Stored<Order>> {
  const filter = ofToken === null ? asked : ofCustomer(asked, ofToken);
  const { status, petId, reference, customer, sort = "id" } = filter;
  const select = selects[sort];
  const part = partOf(filter);
  if (customer !== undefined) {
    return status === undefined
      ? select.byCustomer({ ...part, customer })
      : select.byCustomerAndStatus({ ...part, customer, status });
  }
  if (reference !== undefined) {
    return status === undefined
      ? select.byReference({ ...part, reference })
      : select.byReferenceAndStatus({ ...part, reference, status });
  }
  if (petId === undefined) return status === undefined ? select.all(part) : select.byStatus({ ...part, status });
  if (status === undefined) return select.byPet({ ...part, petId });
  return status === "cancelled"
    ? select.cancelledOfPet({ ...part, petId })
    : select.activeOfPet({ ...part, petId, status });
}

export const listOrders = createHandlers(
  guard("store:read", "orders:own"),
  ...readPage("listOrders", listOrdersQuery, selectFor),
);
