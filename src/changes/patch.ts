import type { Context } from "hono";
import { withVersion } from "../db/resource.ts";
import type { Statement } from "../db/statement.ts";
import type { AppEnv } from "../env.ts";
import { ApiError } from "../errors.ts";
import { isMet, type Preconditions, preconditionFailed } from "../http/precondition.ts";
import type { Attempt } from "../idempotency/attempt.ts";
import { type Call, type Plan, type Responded, run } from "./plan.ts";
import type { Rule } from "./rule.ts";
import { brokenBy, type Found } from "./fields.ts";
import type { Item } from "./update-several.ts";
import type { Target } from "./version.ts";

interface Failures {
  /** The failure when there is no such row. */
  missing: () => ApiError;
  rules: readonly Pick<Rule, "error">[];
}

/** The patch of one row. `compileUpdate` makes it. */
export interface Patch<Body, Values, Columns> extends Failures {
  plans: (target: Target, values: Values, attempt: Attempt | undefined, c: Context<AppEnv>) => readonly Plan[];
  /** Reads the row, after the patch. */
  select: (target: Target, values: Values, c: Context<AppEnv>) => Statement<Found<Body, Columns>>;
  /** What follows from a patch, beside the transaction. */
  announce?: (row: Found<Body, Columns>, c: Context<AppEnv>) => Promise<void>;
  /** Whether, without a key, a second run changes nothing and is not refused, even after another change of the row in between. */
  isRepeatable?: (preconditions: Preconditions, values: Values) => boolean;
}

/**
 * Patches a row in one round trip. Under an `Idempotency-Key` it happens once.
 *
 * @throws ApiError the first of `missing`, the error of the rule and `precondition_failed` that applies.
 */
export async function patchRow<Body, Values, Columns>(
  call: Call,
  { plans, select, missing, rules, announce, isRepeatable }: Patch<Body, Values, Columns>,
  target: Target,
  values: Values,
  preconditions: Preconditions,
): Promise<Responded<Body>> {
  const { c, attempt } = call;
  const statements = plans(target, values, attempt, c);
  const repeatable = isRepeatable?.(preconditions, values);
  const { changed, stored, entry, found } = await run(call, statements, select(target, values, c), repeatable);
  const [row] = found;
  // Also when nothing changed now: an earlier run, whose answer was lost, may have changed the row.
  if (row !== undefined) await announce?.(row, c);
  if (entry !== undefined) return { response: entry.response, version: entry.version, replayed: !stored };
  if (row === undefined) throw missing();
  const broken = rules.findIndex((_rule, index) => row[brokenBy(index)]);
  if (broken >= 0) throw rules[broken]?.error(c, row[brokenBy(broken)]);
  if (changed.length === 0 && !isMet(preconditions, row.version)) throw preconditionFailed();
  return { response: row.body, version: row.version, replayed: false };
}

/** The patch of several rows. `compileUpdateOfSeveral` makes `several`. */
interface PatchOfSeveral<Body, One extends Item> extends Failures {
  several: (items: readonly One[], attempt: Attempt | undefined) => { plan: Plan; select: Statement<Found<Body>> };
}

/**
 * Patches all rows or none, in one round trip. Under an `Idempotency-Key` it happens once.
 *
 * Only a key makes it repeatable. Without one, a second run after a lost response could undo what somebody else changed in between. With
 * the version of every item it could not, but it would fail with 412 for its own success.
 *
 * @returns the rows in the order of the items, each with its version.
 * @throws ApiError the first of `missing`, the error of the rule and `precondition_failed` that applies, with its places.
 */
export async function patchRows<Body, One extends Item>(
  call: Call,
  { several, missing, rules }: PatchOfSeveral<Body, One>,
  items: readonly One[],
): Promise<Responded<(Body & { version: number })[]>> {
  const { plan, select } = several(items, call.attempt);
  const { changed, stored, entry, found } = await run(call, [plan], select);
  if (entry !== undefined) return { response: entry.response, replayed: !stored };
  const byId = new Map(found.map((row) => [row.id, row]));
  const rows = items.map(({ id }) => byId.get(id));
  if (changed.length === 0) {
    refuse(rows, (row) => row === undefined, missing);
    for (const [index, rule] of rules.entries())
      refuse(
        rows,
        (row) => row?.[brokenBy(index)],
        () => rule.error(call.c, undefined),
      );
    refuse(rows, (row, place) => row?.version !== (items[place]?.version ?? row?.version), anotherVersion);
    if (call.attempt !== undefined) throw new Error("The patch of a batch was not stored");
  }
  return { response: `[${rows.map((row) => row && withVersion(row)).join()}]`, replayed: false };
}

const anotherVersion = () => new ApiError("precondition_failed", "The present version is another one.");

/** Throws the failure if it applies to a row, with the places of all such rows. */
function refuse<Row>(
  rows: readonly Row[],
  applies: (row: Row, place: number) => unknown,
  failure: () => ApiError,
): void {
  const places = rows.flatMap((row, place) => (applies(row, place) ? [place] : []));
  if (places.length > 0) throw atPlaces(places, failure());
}

/** The failure with the places of the items that it is about, counted from 0. */
export const atPlaces = (places: readonly number[], { code, message }: ApiError) =>
  new ApiError(code, `${places.join(", ")}: ${message}`);
