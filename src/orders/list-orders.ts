import { and, eq, type SQL, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { after, type Bounds, mergedPage, page } from "../db/page.ts";
import { compile, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { openSession } from "../http/bookmark.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { int64Parameter, query, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { isActive, isCancelled } from "./active-order.ts";
import { orderColumns, type OrderRow, toOrder } from "./order.ts";
import { ORDER_STATUSES, orders, type OrderStatus } from "./table.ts";

/** Other parameters are ignored. */
export const listOrdersQuery = lazy(() =>
  z.object({
    ...pageFields(),
    status: z.optional(z.enum(ORDER_STATUSES, rule(`one of ${ORDER_STATUSES.join(", ")}`))),
    petId: z.optional(int64Parameter()),
  }),
);

const hasStatus = () => eq(orders.status, sql.placeholder("status"));
const hasPet = () => eq(orders.petId, sql.placeholder("petId"));
const pageOf = (db: QueryBuilder, where: SQL | undefined) => page(db, orders, orderColumns(), where);

// Each reads no more rows than its limit, however deep the page lies and however rare the filter's match is.
const selectPage = compile<Bounds, OrderRow>((db) => pageOf(db, after(orders)));
const selectByStatus = compile<Bounds & { status: OrderStatus }, OrderRow>((db) =>
  pageOf(db, and(hasStatus(), after(orders))),
);
const selectCancelledOfPet = compile<Bounds & { petId: Int64 }, OrderRow>((db) =>
  pageOf(db, and(hasPet(), isCancelled(), after(orders))),
);
/** At most one, which has the status or not. */
const selectActiveOfPet = compile<Bounds & { petId: Int64; status: OrderStatus }, OrderRow>((db) =>
  pageOf(db, and(hasPet(), isActive(), hasStatus(), after(orders))),
);
const selectByPet = compile<Bounds & { petId: Int64 }, OrderRow>((db) =>
  mergedPage(db, orders, orderColumns(), [
    and(hasPet(), isActive(), after(orders)),
    and(hasPet(), isCancelled(), after(orders)),
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

export const listOrders = createFactory<AppEnv>().createHandlers(
  guard("store:read"),
  query(listOrdersQuery),
  async (c) => {
    const filter = c.req.valid("query");
    const rows = await openSession(c).read(selectFor(filter));
    return respondWithPage(c, filter, rows, toOrder);
  },
);
