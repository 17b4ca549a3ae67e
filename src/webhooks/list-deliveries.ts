import * as z from "zod/mini";
import { crc32 } from "../hash/crc32.ts";
import { guard } from "../http/guard.ts";
import { addNextPage, limitField, limitOf } from "../http/paging.ts";
import { query } from "../http/query.ts";
import { json } from "../http/respond.ts";
import { oneOf, parameterRule, parsed } from "../http/validation.ts";
import { lazy } from "../lazy.ts";
import { handlersOf } from "../operation.ts";
import { askObject } from "./webhook.ts";

export const DELIVERY_STATUSES = ["pending", "delivered", "failed"] as const;
/** The form of a cursor: the position of a delivery, and a checksum that detects a truncated or mistyped one. */
export const DELIVERY_CURSOR = /^[fp][0-9A-Za-z_-]{16,26}[0-9a-f]{8}$/;
const CHECKSUM_LENGTH = 8;

export const listDeliveriesQuery = lazy(() =>
  z.strictObject({
    limit: limitField(),
    cursor: z.optional(
      parsed<string, string>(
        toPosition,
        parameterRule("one that this service handed out in a Link header for deliveries"),
      ),
    ),
    status: z.optional(oneOf(DELIVERY_STATUSES, parameterRule)),
  }),
);

const checksum = (position: string) =>
  crc32(new TextEncoder().encode(position)).toString(16).padStart(CHECKSUM_LENGTH, "0");

function toPosition(value: unknown): string | undefined {
  if (typeof value !== "string" || !DELIVERY_CURSOR.test(value)) return undefined;
  const position = value.slice(0, -CHECKSUM_LENGTH);
  return value.endsWith(checksum(position)) ? position : undefined;
}

export const listDeliveries = handlersOf("listDeliveries", { headers: ["Link"] })(
  guard("webhooks:manage"),
  query(listDeliveriesQuery),
  async (c) => {
    const { limit, cursor, status } = c.req.valid("query");
    const { deliveries, next } = await askObject(c, (object, name) =>
      object.deliveries(name, { limit: limitOf(limit), after: cursor, status }),
    );
    if (next !== undefined) addNextPage(c, { limit, status }, next + checksum(next));
    return json(c, deliveries, 200);
  },
);
