import { categories } from "./categories.ts";
import { events } from "./events.ts";
import { key } from "./key.ts";
import { orders } from "./orders.ts";
import { pets } from "./pets.ts";
import type { OperationId, Row } from "./row.ts";
import { webhooks } from "./webhooks.ts";

/** The rows of all operations. An operation of the document without a row does not compile. */
export const REGISTER = {
  ...pets,
  ...categories,
  ...orders,
  ...events,
  ...webhooks,
  ...key,
} satisfies { [Id in OperationId]: Row<Id> };

/** The same, for those who take every row in the same way. */
export const ROWS: { readonly [id in OperationId]: Row } = REGISTER;
