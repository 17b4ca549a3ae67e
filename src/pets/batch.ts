import * as z from "zod/mini";
import { isLongNumber } from "../exact/json.ts";
import { parsed } from "../http/validation.ts";

/** Maximum number of animals in a batch. */
export const MAX_BATCH = 100;

/**
 * The schema of a batch. The number is checked first: 64 KiB hold more invalid items than a message can name.
 *
 * @param items what they are, for the message.
 */
export const batchOf = <Item extends z.ZodMiniType>(item: Item, items: string) =>
  z.pipe(
    parsed<z.input<Item>[], z.input<Item>[]>(
      (value) => {
        const isList = Array.isArray(value) && !isLongNumber(value);
        return isList && value.length >= 1 && value.length <= MAX_BATCH ? value : undefined;
      },
      { error: () => `has to be a JSON array of 1 to ${MAX_BATCH} ${items}` },
    ),
    z.array(item),
  );
