import type { Delivery, WebhookState } from "../../src/webhooks/engine/view.ts";
import { type Row, viewsOf } from "./feed.ts";
import type { Attempt, Owners, Receivers } from "./receivers.ts";
import type { Outcome } from "./world.ts";

/** What a world with webhooks leaves for this checker. */
export interface Webhooks {
  attempts: Receivers["attempts"];
  failed: Receivers["failed"];
  moods: Receivers["moods"];
  configurations: Owners["configurations"];
  replays: Owners["replays"];
  calls: Owners["calls"];
  /** When the last step ended. Alarms wait from then on until the calm time. */
  endedAt: number;
  /** In the end, by the name of the object. */
  ends: Map<string, { lives: number; crashes: Map<number, number>; state: WebhookState; deliveries: Delivery[] }>;
  failures: string[];
  /** Whether some objects ran the version before, which made less progress. */
  isMixed: boolean;
}

export const SECOND = 1_000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
/** Milliseconds of a run, with its reads of a slow database: an old configuration holds for so long. */
export const RUN = 3 * MINUTE;
/** Milliseconds of an attempt at its receiver, at least until the object gives it up. */
const TIMEOUT = 14_900;
export const RESET = "feed.reset";
export const TEST = "webhook.test";

/** When the object knew how an attempt ended, or gave it up. */
export const endOf = ({ at, end = Infinity, givenUpAt = Infinity }: Attempt) => Math.min(end, givenUpAt, at + TIMEOUT);
export const isTaken = ({ status = 0 }: Attempt) => status >= 200 && status < 300;
export const placeOf = (event: string) => event.slice(4);
export const idOf = (place: string) => Number.parseInt(place.slice(0, 16), 16);
export const createdAt = ({ body }: Attempt) => Date.parse((JSON.parse(body) as { timestamp: string }).timestamp);
export const cursorOf = ({ body }: Attempt) =>
  (JSON.parse(body) as { data: { cursor: string } }).data.cursor.slice(0, -8);

export type FeedOfWorld = ReturnType<typeof feedOf>;

/** What the feed had: each row with its time and its index among those of its resource, and the rows of the present history. */
export function feedOf(outcome: Outcome) {
  const views = viewsOf(outcome);
  const rows = new Map<string, { row: Row; at: number; own: readonly Row[]; index: number }>();
  for (const history of new Set(views.map((view) => view.rows))) {
    const resources = Map.groupBy(
      history,
      ({ type, data }) => `${type.split(".")[0]} ${/^\{"id":(\d+)/.exec(data)?.[1]}`,
    );
    for (const own of resources.values())
      for (const [index, row] of own.entries()) rows.set(row.place, { row, at: 0, own, index });
  }
  // A restore may bring rows back, which are as old as before.
  for (const { added, at } of outcome.feed.toReversed())
    for (const { place } of added) Object.assign(rows.get(place) ?? {}, { at });
  return { rows, present: views.at(-1) ?? { rows: [], oldest: 0, newest: 0 } };
}

/** The types that a webhook had all the time. */
export function lastingTypes({ configurations }: Webhooks, name: string): Set<string> {
  const all = configurations.flatMap(({ all }) => all.get(name) ?? []).map(({ types }) => new Set(types));
  return all.reduce((some, others) => some.intersection(others));
}

export const resourceOf = ({ id, type, body }: Attempt) =>
  type === RESET ? id : `${type.split(".")[0]} ${/"data":\{"id":(\d+)/.exec(body)?.[1]}`;

export const restoresOf = ({ history }: Outcome): number[] =>
  history.events.flatMap((one) => (one.kind === "occurrence" && one.restored !== undefined ? one.at : []));
