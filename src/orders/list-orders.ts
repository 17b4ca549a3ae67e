import { and, eq, type SQL } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import type { Stored } from "../db/resource.ts";
import { after, type Bounds, inEachOrder, mergedPage, page } from "../db/page.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../operation.ts";
import { pageBounds, pageFields } from "../http/paging.ts";
import { readPage } from "../http/read.ts";
import { customerField, int64Parameter, nameField, oneOf, parameterRule } from "../http/validation.ts";
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
    })
    .check(({ value: { petId, reference, customer }, issues }) => {
      const refuse = (field: string, others: string) =>
        issues.push({ code: "custom", path: [field], message: `cannot be beside ${others}`, input: undefined });
      if (petId !== undefined && reference !== undefined) refuse("reference", "petId");
      if (customer !== undefined && (petId !== undefined || reference !== undefined))
        refuse("customer", "petId or reference");
    }),
);

type ByStatus = Bounds & { status: OrderStatus };
type ByPet = Bounds & { petId: Int64 };
type ByReference = Bounds & { reference: string };
type ByCustomer = Bounds & { customer: string };

const hasStatus = (parameter: Parameter<ByStatus>) => eq(orders.status, parameter("status"));
const hasPet = (parameter: Parameter<ByPet>) => eq(orders.petId, parameter("petId"));
const hasCustomer = (parameter: Parameter<ByCustomer>) => eq(orders.customer, parameter("customer"));
const hasReference = (parameter: Parameter<ByReference>) => eq(orders.reference, parameter("reference"));

// Each query reads at most `limit` rows, however deep the page is and however rare matches are.
const selects = inEachOrder((sort) => {
  const pageOf = (db: QueryBuilder, parameter: Parameter<Bounds>, ...conditions: SQL[]) =>
    page(db, parameter, order, and(...conditions, after(orders, parameter, sort)), sort);
  const inEachStatus = (db: QueryBuilder, parameter: Parameter<Bounds>, condition: SQL) => {
    const ofStatus = (status: OrderStatus) => and(condition, eq(orders.status, status), after(orders, parameter, sort));
    const parts = [ofStatus("placed"), ofStatus("shipped"), ofStatus("cancelled")] as const;
    return mergedPage(db, parameter, order, parts, sort);
  };
  return {
    all: compile(`listOrders.all.${sort}`, (db, parameter: Parameter<Bounds>) => pageOf(db, parameter)),
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
      const ofPet = (isOne: () => SQL) => and(hasPet(parameter), isOne(), after(orders, parameter, sort));
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
function selectFor(asked: Filter, ofToken: string | null): Statement<Stored<Order>> {
  const filter = ofToken === null ? asked : ofCustomer(asked, ofToken);
  const { status, petId, reference, customer, sort = "id" } = filter;
  const select = selects[sort];
  const bounds = pageBounds(filter);
  if (customer !== undefined) {
    return status === undefined
      ? select.byCustomer({ ...bounds, customer })
      : select.byCustomerAndStatus({ ...bounds, customer, status });
  }
  if (reference !== undefined) {
    return status === undefined
      ? select.byReference({ ...bounds, reference })
      : select.byReferenceAndStatus({ ...bounds, reference, status });
  }
  if (petId === undefined) return status === undefined ? select.all(bounds) : select.byStatus({ ...bounds, status });
  if (status === undefined) return select.byPet({ ...bounds, petId });
  return status === "cancelled"
    ? select.cancelledOfPet({ ...bounds, petId })
    : select.activeOfPet({ ...bounds, petId, status });
}

export const listOrders = createHandlers(
  guard("store:read", "orders:own"),
  ...readPage("listOrders", listOrdersQuery, selectFor),
);
