import type { Waiting } from "./queue.ts";
import { START as HEALTHY } from "./state.ts";

export type Progress = typeof START;

/**
 * What an object remembers in the beginning, beside the deliveries that wait and its secret. Times are in milliseconds since the epoch.
 */
export const START = {
  /** `<id>-<tag>` of the webhook. Empty until a call tells it: an alarm knows no name. */
  name: "",
  /** The place in the feed up to which everything is delivered, or waits. Empty before the object starts. */
  place: "",
  /** The last place whose event the receiver may have. */
  highest: "",
  /** Where the replay is, and where it ends. */
  replay: null as { place: string; end: string } | null,
  /** How often the feed lost the place, and when it last did. */
  resets: 0,
  resetAt: 0,
  health: HEALTHY,
  /** Deliveries that ever finished, and the newest of them. */
  finished: 0,
  recent: [] as Finished[],
  /** The configuration as it was last seen. */
  url: "",
  enabled: true,
  /** The origin of the receiver that last took a delivery. */
  proven: "",
  /** Since when the database has no row of the webhook. */
  goneSince: null as number | null,
};

/** A delivery that has ended. */
export interface Finished extends Pick<Waiting, "type" | "attempts" | "response" | "isReplay"> {
  /** The id of the event. */
  event: string;
  status: "delivered" | "failed";
  lastAttemptAt: number;
  error: Waiting["error"] | "no_room";
}
