import type { OpenAPIObject } from "openapi3-ts/oas31";
import { judge, type Violation } from "./checkers.ts";
import { FAULTS, TROUBLES } from "./faults.ts";
import { type Code, type Outcome, type Plan, runWorld } from "./world.ts";

/** A failed plan and what it shows. */
export interface Failure {
  plan: Plan;
  outcome: Outcome;
  violation: Violation;
}

/** Runs a plan. Returns the earliest violation, or that of one checker. */
export async function fail(
  code: Code,
  document: OpenAPIObject,
  plan: Plan,
  checker?: string,
): Promise<Failure | undefined> {
  const outcome = await runWorld(code, plan);
  const violation = judge(outcome, document).find((one) => checker === undefined || one.checker === checker);
  return violation && { plan, outcome, violation };
}

/** Milliseconds. A failure that is longer than need be is better than one that a person waits for. */
const LONGEST = 60_000;

/**
 * Leaves out faults and steps, as long as the same checker fails.
 *
 * @param runs of worlds, at most. It begins none after `LONGEST`.
 */
export async function shrink(code: Code, document: OpenAPIObject, failure: Failure, runs = 150): Promise<Failure> {
  let best = failure;
  const end = performance.now() + LONGEST;
  const { checker } = failure.violation;
  async function accept(change: Partial<Plan>): Promise<boolean> {
    if (runs-- <= 0 || performance.now() > end) return false;
    const next = await fail(code, document, { ...best.plan, ...change }, checker);
    if (next !== undefined) best = next;
    return next !== undefined;
  }
  const stepsOf = ({ plan }: Failure) => [...(plan.only ?? Array.from({ length: plan.steps }, (_, index) => index))];
  // Nothing after the violation matters, mostly.
  const last = failure.violation.exchange?.step;
  if (last !== undefined) await accept({ only: new Set(stepsOf(best).filter((step) => step <= last)) });
  for (const kind of [...FAULTS, ...TROUBLES]) await accept({ calm: new Set([...(best.plan.calm ?? []), kind]) });
  for (
    let size = Math.ceil(stepsOf(best).length / 2);
    size >= 1 && runs > 0 && performance.now() <= end;
    size = size === 1 ? 0 : Math.ceil(size / 2)
  ) {
    for (let start = 0; start < stepsOf(best).length && runs > 0;) {
      const steps = stepsOf(best);
      const left = [...steps.slice(0, start), ...steps.slice(start + size)];
      if (left.length === 0 || !(await accept({ only: new Set(left) }))) start += size;
    }
  }
  return best;
}
