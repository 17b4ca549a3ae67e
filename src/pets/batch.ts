import * as z from "zod/mini";
import { isLongNumber } from "../exact/json.ts";
import { parsed } from "../http/validation.ts";

/** Maximum number of animals in a batch. */
export const MAX_BATCH = 100;

/**
 * The schema of a batch. The number is checked first: 64 KiB hold more invalid items than a message can name.
 *
 * @param items what they are, for the message.
 * @param distinct the fields of which no two items may have the same value: one would depend on the other.
 */
export const batchOf = <Item extends z.ZodMiniObject>(
  item: Item,
  items: string,
  ...distinct: (keyof z.output<Item> & string)[]
) => {
  const batch = z.pipe(
    parsed<z.input<Item>[], z.input<Item>[]>(
      (value) => {
        const isList = Array.isArray(value) && !isLongNumber(value);
        return isList && value.length >= 1 && value.length <= MAX_BATCH ? value : undefined;
      },
      { error: () => `has to be a JSON array of 1 to ${MAX_BATCH} ${items}` },
    ),
    z.array(item),
  );
  return batch.check(({ value, issues }) => {
    for (const field of distinct) {
      const known = new Set<unknown>();
      for (const [place, { [field]: input }] of value.entries()) {
        if (known.has(input) && input !== undefined && input !== null)
          issues.push({ code: "custom", path: [place, field], message: "is that of an earlier item", input });
        known.add(input);
      }
    }
  });
};
