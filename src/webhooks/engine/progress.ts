import type { Waiting } from "./queue.ts";
import { START as HEALTHY, type State } from "./state.ts";

/** What an object remembers, beside the deliveries that wait and its secret. Times are in milliseconds since the epoch. */
export interface Progress {
  /** `<id>-<tag>` of the webhook. Empty until a call tells it: an alarm knows no name. */
  name: string;
  /** The place in the feed up to which everything is delivered, or waits. Empty before the object starts. */
  place: string;
  /** The last place whose event the receiver may have. */
  highest: string;
  /** Where the replay is, and where it ends. */
  replay: { place: string; end: string } | null;
  /** How often the feed lost the place, and when it last did. */
  resets: number;
  resetAt: number;
  health: State;
  /** Deliveries that ever finished, and the newest of them. */
  finished: number;
  recent: Finished[];
  /** The configuration as it was last seen. */
  url: string;
  enabled: boolean;
  /** The origin of the receiver that last took a delivery. */
  proven: string;
  /** Since when the database has no row of the webhook. */
  goneSince: number | null;
}

export const START: Progress = {
  name: "",
  place: "",
  highest: "",
  replay: null,
  resets: 0,
  resetAt: 0,
  health: HEALTHY,
  finished: 0,
  recent: [],
  url: "",
  enabled: true,
  proven: "",
  goneSince: null,
};

/** A delivery that has ended. */
export interface Finished {
  /** The id of the event. */
  event: string;
  type: string;
  status: "delivered" | "failed";
  attempts: number;
  lastAttemptAt: number;
  response: number | null;
  error: Waiting["error"] | "no_room";
  isReplay: boolean;
}
