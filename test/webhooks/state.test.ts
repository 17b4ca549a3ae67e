import { expect, test } from "vitest";
import {
  CHANGES,
  FAILS_AFTER,
  type Happening,
  type Mode,
  modeAt,
  next,
  START,
  type State,
  type Transition,
  TRANSITIONS,
  type Transitions,
} from "../../src/webhooks/engine/state.ts";

// Every pair of a state of an endpoint and of what happens to it.

const NOW = 1_000_000;
const SECOND = 1_000;
const [SHORT, LONG] = [NOW - 10 * SECOND, NOW - 40 * SECOND];
type Kind = Happening["kind"];
const KINDS: Kind[] = ["taken", "refused", "paused", "limited", "tested", "renewed"];

/** A state with something of everything. */
const stateOf = (more: Partial<State>): State => ({
  ...START,
  lastSuccessAt: SHORT - SECOND,
  failedTo: NOW - SECOND,
  failures: 3,
  probedAt: NOW - SECOND,
  probes: 2,
  suspect: { from: LONG - 9 * SECOND, until: LONG - SECOND },
  pauses: ["a", "b"].map((resource) => ({ resource, at: NOW - SECOND })),
  ...more,
});
const STATES: { [mode in Mode]: State } = {
  ok: stateOf({ failedFrom: SHORT }),
  limited: stateOf({ failedFrom: SHORT, limitedUntil: NOW + 60 * SECOND }),
  failing: stateOf({ failedFrom: LONG, limitedUntil: NOW + 60 * SECOND }),
};
const happening = (kind: Kind, more: Partial<Happening> = {}): Happening => ({
  kind,
  at: NOW,
  resource: "c",
  until: NOW + 90 * SECOND,
  isProbe: true,
  ...more,
});

/** The mode after a happening, and what it changes, with times in seconds from now. */
function told(state: State, event: Happening, transitions: Transitions = TRANSITIONS): string {
  const after = next(state, event, transitions);
  const seconds = (text: string) =>
    text.replaceAll('"', "").replaceAll(/\b\d{6,}\b/g, (time) => `${(Number(time) - NOW) / SECOND} s`);
  const changed = (Object.keys(after) as (keyof State)[])
    .map((key) => [key, JSON.stringify(after[key]), JSON.stringify(state[key])] as const)
    .filter(([, now, before]) => now !== before);
  return [modeAt(after, NOW), ...changed.map(([key, now]) => `${key} ${seconds(now)}`)].join(", ");
}

const ENDED = "failedFrom null, failures 0, probes 0";
const FAILED = "failedTo 0 s, failures 4, probedAt 0 s";
const PROBED = "failedTo 0 s, probedAt 0 s, probes 3";
const NOTED = "pauses [{resource:a,at:-1 s},{resource:b,at:-1 s},{resource:c,at:0 s}]";
const RENEWED = `${ENDED}, outage {from:0,until:0 s,since:0}, suspect null`;
const TESTED = `testedAt 0 s, ${ENDED}, outage {from:0,until:0 s}, suspect null`;
const EXPECTED: { [mode in Mode]: { [kind in Kind]: string } } = {
  ok: {
    taken: `ok, lastSuccessAt 0 s, ${ENDED}, suspect {from:-10 s,until:0 s}`,
    refused: `ok, ${FAILED}`,
    paused: `ok, ${FAILED}, ${NOTED}`,
    limited: `limited, ${FAILED}, limitedUntil 90 s, ${NOTED}`,
    tested: `ok, ${TESTED}, pauses []`,
    renewed: `ok, ${RENEWED}, pauses []`,
  },
  limited: {
    taken: `limited, lastSuccessAt 0 s, ${ENDED}, suspect {from:-10 s,until:0 s}`,
    refused: `limited, ${FAILED}`,
    paused: `limited, ${FAILED}, ${NOTED}`,
    limited: `limited, ${FAILED}, limitedUntil 90 s, ${NOTED}`,
    tested: `ok, ${TESTED}, limitedUntil 0, pauses []`,
    renewed: `ok, ${RENEWED}, limitedUntil 0, pauses []`,
  },
  failing: {
    taken: `ok, lastSuccessAt 0 s, ${ENDED}, outage {from:-40 s,until:0 s,since:-40 s}, suspect null, limitedUntil 0, pauses []`,
    refused: `failing, ${PROBED}`,
    paused: `failing, ${PROBED}, limitedUntil 90 s, ${NOTED}`,
    limited: `failing, ${PROBED}, limitedUntil 90 s, ${NOTED}`,
    tested: `ok, ${TESTED.replace("until:0 s", "until:0 s,since:-40 s")}, limitedUntil 0, pauses []`,
    renewed: `ok, ${RENEWED}, limitedUntil 0, pauses []`,
  },
};
const PAIRS = (Object.keys(STATES) as Mode[]).flatMap((mode) => KINDS.map((kind) => [mode, kind] as const));

// Promise: receivers-that-are-down, receivers-that-limit, after-an-outage
test.each(PAIRS)("%s: %s", (mode, kind) => {
  expect(told(STATES[mode], happening(kind))).toBe(EXPECTED[mode][kind]);
  expect(TRANSITIONS[mode][kind][0]).toBe(modeAt(next(STATES[mode], happening(kind)), NOW));
});

/** Every transition that is wrong once: a change more, a change less, another one in its place, all of another pair, and another mode. */
function wrongFor(mode: Mode, kind: Kind): Transition[] {
  const [to, ...right] = TRANSITIONS[mode][kind];
  const all = Object.keys(CHANGES) as (keyof typeof CHANGES)[];
  const missing = all.filter((one) => !right.includes(one));
  const lists = [
    ...missing.map((one) => [...right, one]),
    ...right.map((_, index) => right.toSpliced(index, 1)),
    ...right.flatMap((_, index) => missing.map((one) => right.toSpliced(index, 1, one))),
    ...PAIRS.map(([from, on]) => TRANSITIONS[from][on].slice(1) as typeof right),
  ].filter((changes) => changes.length !== right.length || changes.some((one) => !right.includes(one)));
  // A success after a recovery changes nothing more.
  const different = lists.filter((changes) => !changes.includes("recover") || !changes.includes("succeed"));
  const modes = Object.keys(STATES) as Mode[];
  return [
    ...different.map((changes): Transition => [to, ...changes]),
    ...modes.filter((one) => one !== to).map((one): Transition => [one, ...right]),
  ];
}

test.each(PAIRS)("%s: each wrong transition for %s is found", (mode, kind) => {
  const wrong = wrongFor(mode, kind);
  const missed = wrong.filter((transition) => {
    const transitions = { ...TRANSITIONS, [mode]: { ...TRANSITIONS[mode], [kind]: transition } };
    const isTold = told(STATES[mode], happening(kind), transitions) === EXPECTED[mode][kind];
    return isTold && transition[0] === modeAt(next(STATES[mode], happening(kind), transitions), NOW);
  });
  expect(missed).toEqual([]);
});

const outage = (from: number, until: number, more = {}) => ({ outage: { from, until, ...more } });
test.each<[string, State, Happening, Partial<State>]>([
  [
    "a short stretch is none",
    stateOf({ failedFrom: NOW - SECOND }),
    happening("taken"),
    { suspect: STATES.ok.suspect },
  ],
  [
    "one of many failures may be",
    stateOf({ failedFrom: NOW - SECOND, failures: 10 }),
    happening("taken"),
    { suspect: { from: NOW - SECOND, until: NOW } },
  ],
  [
    "one whose event is taken is",
    { ...STATES.ok, ...outage(5, 9) },
    happening("taken", { refusedAt: SHORT }),
    { suspect: null, ...outage(SHORT, NOW) },
  ],
  [
    "a stretch before, too",
    stateOf({ failedFrom: null }),
    happening("taken", { refusedAt: LONG - 2 * SECOND }),
    { suspect: null, ...outage(LONG - 9 * SECOND, LONG - SECOND) },
  ],
  [
    "an event refused elsewhere tells nothing",
    stateOf({ failedFrom: null }),
    happening("taken", { refusedAt: LONG - SECOND }),
    { suspect: STATES.ok.suspect, outage: null },
  ],
  [
    "an outage goes on for what still waits",
    { ...STATES.failing, ...outage(5, 9, { since: 7 }) },
    happening("taken", { hasLeft: true }),
    outage(5, NOW, { since: 7 }),
  ],
  [
    "and ends for the rest",
    { ...STATES.failing, ...outage(5, 9, { since: 7 }) },
    happening("taken"),
    outage(LONG, NOW, { since: LONG }),
  ],
  ["a new event is no probe", STATES.failing, happening("refused", { isProbe: false }), { probes: 2, failedTo: NOW }],
  [
    "an event refused before a success says nothing",
    stateOf({ failedFrom: null }),
    happening("refused", { isKnown: true }),
    { failedFrom: null, failures: 3 },
  ],
  ["unless others fail", STATES.ok, happening("refused", { isKnown: true }), { failedFrom: SHORT, failures: 4 }],
  ["a clock that was ahead is forgotten", stateOf({ failedFrom: 2 * NOW }), happening("refused"), { failedFrom: NOW }],
])("%s", (_name, state, event, expected) => {
  expect(next(state, event)).toMatchObject(expected);
});

test.each<[Mode, Partial<State>]>([
  ["ok", { failedFrom: NOW - FAILS_AFTER + 1 }],
  ["failing", { failedFrom: NOW - FAILS_AFTER }],
  ["ok", { limitedUntil: NOW }],
  ["limited", { limitedUntil: NOW + 1 }],
  ["failing", { failedFrom: NOW - FAILS_AFTER, limitedUntil: NOW + 1 }],
])("time alone makes it %s: %j", (mode, state) => {
  expect(modeAt({ ...START, ...state }, NOW)).toBe(mode);
});
