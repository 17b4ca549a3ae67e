import { eq, sql } from "drizzle-orm";
import * as z from "zod/mini";
import { patches } from "../changes/handlers.ts";
import type { Rule } from "../changes/rule.ts";
import { compileUpdate } from "../changes/update.ts";
import { now } from "../db/clock.ts";
import type { Parameter } from "../db/statement.ts";
import { ApiError } from "../errors.ts";
import { toTimestamp } from "../exact/timestamp.ts";
import { guard } from "../http/guard.ts";
import { customerField, jsonObject, nameField, parsed, rule } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { createHandlers } from "../operation.ts";
import { isPlaced, compileMove, noSuchOrder, order, orderId } from "./order.ts";
import { orders } from "./table.ts";

/** Add new fields at the end (`valuesOf`). */
export const orderPatch = lazy(() =>
  jsonObject({
    status: z.optional(
      parsed<"shipped", "shipped">((value) => (value === "shipped" ? value : undefined), rule('"shipped"')),
    ),
    shipDate: z.optional(parsed<string, string>(toTimestamp, rule("a time in RFC 3339"))),
    reference: z.optional(z.nullable(nameField())),
    customer: z.optional(z.nullable(customerField())),
  }).check(({ value: { status, shipDate }, issues }) => {
    if (shipDate === undefined || status !== undefined) return;
    issues.push({ code: "custom", path: ["status"], message: 'is required beside shipDate: "shipped"', input: status });
  }),
);

const isNotCancelled: Rule<"status"> = {
  field: "status",
  isBroken: () => eq(orders.status, "cancelled"),
  error: () => new ApiError("order_cancelled", "This order is cancelled."),
};
const shipment = compileUpdate(
  "updateOrder.ship",
  { ...order, fields: { status: true, reference: true, customer: true } },
  "order.shipped",
  {
    missing: noSuchOrder,
    rules: [isNotCancelled],
    // The index of each has the status too.
    sets: [["status", "reference", "customer"]],
    also: (_field, parameter: Parameter<{ shipDate: string | null }>) => ({
      shipDate: sql`coalesce(${parameter("shipDate")}, ${now})`,
    }),
    differs: isPlaced,
    companions: compileMove("updateOrder", "sold"),
  },
);

const select = shipment.compileSelect();

const relabelling = compileUpdate(
  "updateOrder.label",
  { ...order, fields: { reference: true, customer: true } },
  "order.updated",
  {
    missing: noSuchOrder,
    sets: [["reference"], ["customer"], ["reference", "customer"]],
    // Beside a status, they change only of an order that has it already: else the shipment changes them.
    rules: [
      {
        isBroken: (_db, { parameter }: { parameter: Parameter<{ status: "shipped" | null }> }) =>
          sql`${orders.status} <> coalesce(${parameter("status")}, ${orders.status})`,
        error: isNotCancelled.error,
      },
    ],
  },
);

const isEmpty = ({ reference, customer }: Pick<z.infer<ReturnType<typeof orderPatch>>, "reference" | "customer">) =>
  reference === undefined && customer === undefined;

export const updateOrder = createHandlers(
  guard("orders:manage"),
  ...patches("updateOrder", orderPatch, orderId, {
    ...shipment,
    plans(target, { status, shipDate = null, ...labels }, attempt) {
      if (status === undefined) return relabelling.plans(target, { ...labels, status: null }, attempt);
      // Of an order that is shipped already, reference and customer may change. This comes first: a shipment that has nothing to do stores its
      // key.
      const ofShipped = isEmpty(labels) ? [] : relabelling.plans(target, { ...labels, status }, attempt);
      return [...ofShipped, ...shipment.plans(target, { status, shipDate, ...labels }, attempt)];
    },
    select: (target, { shipDate = null, ...patch }) => select(target, { shipDate, ...patch }),
    // Without a precondition, a shipment is repeatable: an order is placed once, so a second run finds nothing to change. A second run
    // with a reference or a customer would undo the change of somebody else in between.
    isRepeatable: ({ ifMatch, ifNoneMatch }, labels) =>
      ifMatch === undefined && ifNoneMatch === undefined && isEmpty(labels),
  }),
);
