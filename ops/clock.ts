import { setTimeout as sleep } from "node:timers/promises";

/** The time, and a way to wait. A test has one that does not take as long. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number;
  sleep(milliseconds: number): Promise<void>;
}

/** The clock of this process. Somebody who sets the time of the machine does not change it. */
export const PROCESS_CLOCK: Clock = {
  now: () => performance.timeOrigin + performance.now(),
  sleep: (milliseconds) => sleep(milliseconds),
};
