import * as z from "zod/mini";
import { isLongNumber } from "../exact/json.ts";

/** Maximum number of animals in a batch. */
export const MAX_BATCH = 100;

const isBatch = (value: unknown) =>
  Array.isArray(value) && !isLongNumber(value) && value.length >= 1 && value.length <= MAX_BATCH;

/**
 * The schema of a batch. The number is checked first: 64 KiB hold more invalid items than a message can name.
 *
 * @param items what they are, for the message.
 */
export const batchOf = <Item extends z.ZodMiniType>(item: Item, items: string) =>
  z.pipe(z.custom<z.input<Item>[]>(isBatch, `has to be a JSON array of 1 to ${MAX_BATCH} ${items}`), z.array(item));
