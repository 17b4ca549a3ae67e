/** Maximum number of rows that one statement removes. Other queries wait for it meanwhile: docs/capacity.md has the milliseconds. */
export const BATCH_SIZE = 5_000;
