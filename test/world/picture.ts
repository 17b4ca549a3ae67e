import type { Event } from "./history.ts";
import type { Failure } from "./shrink.ts";

/** Characters of a line. */
const WIDTH = 200;
/** Lines of a picture. */
const LINES = 80;
/** Lines of errors, which have stacks, below them. */
const ERRORS = 3;

/** A failure, for a person: what happened, in the order of time, with a mark at the request that breaks the guarantee. */
export function picture({ plan, outcome, violation }: Failure): string {
  const { checker, message, exchange } = violation;
  const lines = [...outcome.history.lines()];
  const { events } = outcome.history;
  const start = events[0]?.at ?? 0;
  const drawn = lines.map((line, index) => {
    const event = events[index] as Event;
    const isMarked = event.kind !== "occurrence" && event.exchange === exchange;
    const seconds = ((event.at - start) / 1000).toFixed(3).padStart(10);
    return `${isMarked ? ">" : " "}${seconds} ${ARROWS[event.kind]} ${line.replace(/^\S+ /, "")}`.slice(0, WIDTH);
  });
  const end = drawn.findLastIndex((line) => line.startsWith(">"));
  const shown = drawn.slice(Math.max(0, (end < 0 ? drawn.length : end + 1) - LINES), end < 0 ? undefined : end + 1);
  const steps = plan.only === undefined ? "" : ` in ${plan.only.size} steps`;
  return [
    `${checker}: ${message}`,
    `Seed ${plan.seed} shows it${steps}. Seconds, then --> a request, [] a transaction, <-- a response, * an occurrence.`,
    ...shown,
    ...outcome.errors.slice(-ERRORS),
  ].join("\n");
}

const ARROWS: { [kind in Event["kind"]]: string } = { request: "-->", trip: " []", response: "<--", occurrence: " * " };
