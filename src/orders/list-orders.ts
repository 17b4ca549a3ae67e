import { and, eq, type SQL } from "drizzle-orm";
import * as z from "zod/mini";
import { guard } from "../http/guard.ts";
import { after, type Bounds, mergedPage, page } from "../db/page.ts";
import { compile, type Parameter, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { Int64 } from "../exact/int64.ts";
import { createHandlers } from "../handlers.ts";
import { openSession } from "../http/session.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { int64Parameter, query, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { orderColumns, type OrderRow, toOrder } from "./order.ts";
import { isActive, isCancelled, ORDER_STATUSES, orders, type OrderStatus } from "./table.ts";

/** Other parameters are ignored. */
export const listOrdersQuery = lazy(() =>
  z.object({
    ...pageFields(),
    status: z.optional(z.enum(ORDER_STATUSES, rule(`one of ${ORDER_STATUSES.join(", ")}`))),
    petId: z.optional(int64Parameter()),
  }),
);

type ByStatus = Bounds & { status: OrderStatus };
type ByPet = Bounds & { petId: Int64 };

const hasStatus = (parameter: Parameter<ByStatus>) => eq(orders.status, parameter("status"));
const hasPet = (parameter: Parameter<ByPet>) => eq(orders.petId, parameter("petId"));
const pageOf = (db: QueryBuilder, parameter: Parameter<Bounds>, ...conditions: SQL[]) =>
  page(db, parameter, orders, orderColumns(), and(...conditions, after(orders, parameter)));

// Each query reads at most `limit` rows, however deep the page is and however rare matches are.
const selectPage = compile((db, parameter: Parameter<Bounds>) => pageOf(db, parameter));
const selectByStatus = compile((db, parameter: Parameter<ByStatus>) => pageOf(db, parameter, hasStatus(parameter)));
const selectCancelledOfPet = compile((db, parameter: Parameter<ByPet>) =>
  pageOf(db, parameter, hasPet(parameter), isCancelled()),
);
/** Selects the only order that can match. Its status may differ. */
const selectActiveOfPet = compile((db, parameter: Parameter<ByPet & ByStatus>) =>
  pageOf(db, parameter, hasPet(parameter), isActive(), hasStatus(parameter)),
);
const selectByPet = compile((db, parameter: Parameter<ByPet>) =>
  mergedPage(db, parameter, orders, orderColumns(), [
    and(hasPet(parameter), isActive(), after(orders, parameter)),
    and(hasPet(parameter), isCancelled(), after(orders, parameter)),
  ]),
);

/** The statement for a page. */
function selectFor({ status, petId, ...paging }: z.infer<ReturnType<typeof listOrdersQuery>>): Statement<OrderRow> {
  const bounds = pageBounds(paging);
  if (petId === undefined) return status === undefined ? selectPage(bounds) : selectByStatus({ ...bounds, status });
  if (status === undefined) return selectByPet({ ...bounds, petId });
  return status === "cancelled"
    ? selectCancelledOfPet({ ...bounds, petId })
    : selectActiveOfPet({ ...bounds, petId, status });
}

export const listOrders = createHandlers(guard("store:read"), query(listOrdersQuery), async (c) => {
  const filter = c.req.valid("query");
  const rows = await openSession(c).read(selectFor(filter));
  return respondWithPage(c, filter, rows, toOrder);
});
