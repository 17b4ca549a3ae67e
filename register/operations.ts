import { categories } from "./categories.ts";
import { events } from "./events.ts";
import { key } from "./key.ts";
import { orders } from "./orders.ts";
import { pets } from "./pets.ts";
import type { OperationId, Row } from "./row.ts";
import { webhooks } from "./webhooks.ts";

export const REGISTER = { ...pets, ...categories, ...orders, ...events, ...webhooks, ...key };

/** The rows of all operations. An operation of the document without a row does not compile. */
export const ROWS: { readonly [Id in OperationId]: Row<Id> } = REGISTER;
