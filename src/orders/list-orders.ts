import { and, asc, eq, gt, type SQL, sql } from "drizzle-orm";
import { createFactory } from "hono/factory";
import * as z from "zod/mini";
import { guard } from "../auth/guard.ts";
import { compile, type QueryBuilder, type Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import type { Int64 } from "../exact/int64.ts";
import { openSession } from "../http/bookmark.ts";
import { pageBounds, pageFields, respondWithPage } from "../http/paging.ts";
import { int64Parameter, query, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
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

const parameter = sql.placeholder;
const after = () => gt(orders.id, parameter("after"));
const hasStatus = () => eq(orders.status, parameter("status"));
const hasPet = () => eq(orders.petId, parameter("petId"));
// Texts, as the conditions of the indexes are: SQLite takes an index with a condition only for a query that repeats it.
const isCancelled = sql`${orders.status} = 'cancelled'`;
const isActive = sql`${orders.status} <> 'cancelled'`;
const page = (db: QueryBuilder, where: SQL | undefined) =>
  db.select(orderColumns()).from(orders).where(where).orderBy(asc(orders.id)).limit(parameter("limit"));

interface Bounds extends Record<string, unknown> {
  after: Int64;
  limit: number;
}

// Each reads no more rows than its limit, however deep the page lies and however rare the filter's match is.
const selectPage = compile<Bounds, OrderRow>((db) => page(db, after()));
const selectByStatus = compile<Bounds & { status: OrderStatus }, OrderRow>((db) => page(db, and(hasStatus(), after())));
const selectCancelledOfPet = compile<Bounds & { petId: Int64 }, OrderRow>((db) =>
  page(db, and(hasPet(), isCancelled, after())),
);
/** At most one, which has the status or not. */
const selectActiveOfPet = compile<Bounds & { petId: Int64; status: OrderStatus }, OrderRow>((db) =>
  page(db, and(hasPet(), isActive, hasStatus(), after())),
);
/** SQLite merges the two indexes, each of which has its orders in the order of ids. */
const selectByPet = compile<Bounds & { petId: Int64 }, OrderRow>((db) => {
  const ofPet = (condition: SQL) =>
    db
      // `position` is the id as a number: `id` is text, and would order as such.
      .select({ ...orderColumns(), position: sql`${orders.id}`.as("position") })
      .from(orders)
      .where(and(hasPet(), condition, after()));
  return ofPet(isActive)
    .unionAll(ofPet(isCancelled))
    .orderBy(sql`position`)
    .limit(parameter("limit"));
});

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
