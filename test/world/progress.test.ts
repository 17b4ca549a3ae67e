import { expect, test } from "vitest";
import { CASES, isKept } from "./cases.ts";
import { programOf } from "./program.ts";
import type { Worker } from "./service.ts";
import { Stage } from "./stage.ts";

// Short forms of the cases of npm run test:progress.

/** Of changes. The rows of some cases are full after it. In one, the order of what is refused has ended twice, an hour each. */
const hoursOf = (name: string) => (name.startsWith("1c") ? 2.25 : 0.75);
const program = await programOf<Worker>("src/index.ts");

// Promise: after-an-outage, half-of-the-places, new-receivers, numbers-of-webhooks
// Promise: lost-calls, receivers-that-flap, replays-from-ahead, slow-receivers, the-ceiling
test.each(Object.entries(CASES))("%s", { timeout: 300_000 }, async (name, run) => {
  const stage = new Stage(program, hoursOf(name));
  const figures = await run(stage);
  stage.close();
  expect(stage.errors).toEqual([]);
  expect(figures.filter((figure) => !isKept(figure))).toEqual([]);
});
