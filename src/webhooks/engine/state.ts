const SECOND = 1_000;

/** Milliseconds without a success, from the first failure on, after which an endpoint fails. */
export const FAILS_AFTER = 30 * SECOND;
/** A shorter stretch without a success may be an outage when it lasts so long, or when so many attempts fail in it. */
const MAY_BE_OUTAGE = { lasts: 5 * SECOND, failures: 10 };
/** The receiver limits when it asked for a pause from so many resources, within so many milliseconds. */
const PAUSES_OF_A_LIMIT = 3;
const PAUSES_WITHIN = 60 * SECOND;

/** `ok`: events are attempted side by side. `limited`: none is, for now. `failing`: one attempt at a time asks whether it works. */
export type Mode = "ok" | "limited" | "failing";

export type State = typeof START;
type Time = { from: number; until: number };

/**
 * What the outcomes of all attempts say about an endpoint, in the beginning. Times are in milliseconds since the epoch. The version before
 * reads it too.
 */
export const START = {
  /** Of a delivery, and of a test. */
  lastSuccessAt: null as number | null,
  testedAt: 0,
  /** Since when nothing has succeeded while something was attempted: the first failure, the last one, and how many. */
  failedFrom: null as number | null,
  failedTo: 0,
  failures: 0,
  /** The last probe, and how many since it fails. */
  probedAt: 0,
  probes: 0,
  /** The last outage. What was last refused in it is due at its end, and what was first refused after `since` is as new. */
  outage: null as (Time & { since?: number }) | null,
  /** The last stretch without a success that may have been one. */
  suspect: null as Time | null,
  /** Before which nothing starts, and the resources for which the receiver lately asked for a pause. */
  limitedUntil: 0,
  pauses: [] as { resource: string; at: number }[],
};

/** What happens to an endpoint. */
export interface Happening {
  /**
   * A delivery succeeded, or failed, or asked for a pause, as the third resource within a minute, or a test succeeded, or the receiver
   * is another one, or back.
   */
  kind: "taken" | "refused" | "paused" | "limited" | "tested" | "renewed";
  at: number;
  /** When the event of the attempt was last refused before. */
  refusedAt?: number | null;
  /** Whether something still waits for its attempt after the last outage. */
  hasLeft?: boolean;
  resource?: string;
  /** Until when the receiver wants a pause. */
  until?: number;
  isProbe?: boolean;
  /** Whether the event was refused before a success, too: then it says nothing of the endpoint. */
  isKnown?: boolean;
}

type Change = (state: State, happening: Happening) => State;

/** The stretch without a success that ends now, or the last one that may have been an outage. */
const stretchOf = ({ failedFrom, suspect }: State, at: number) =>
  failedFrom === null ? suspect : { from: failedFrom, until: at };
const ENDED = { failedFrom: null, failures: 0, probes: 0 };

/** Each changes a part of the state. The transitions name them. */
export const CHANGES = {
  /** A success. The stretch before it was an outage if the receiver takes what it refused in it. */
  succeed(state, { at, refusedAt = null, hasLeft = false }) {
    const stretch = stretchOf(state, at);
    const after = { ...state, ...ENDED, lastSuccessAt: at };
    if (stretch === null) return after;
    const isLong = stretch.until - stretch.from >= MAY_BE_OUTAGE.lasts || state.failures >= MAY_BE_OUTAGE.failures;
    if (!isLong && stretch !== state.suspect) return after;
    const isSure = refusedAt !== null && refusedAt >= stretch.from && refusedAt < stretch.until;
    if (!isSure) return { ...after, suspect: stretch };
    return { ...after, suspect: null, outage: withLeft(stretch, state, hasLeft) };
  },
  /** The first success after an outage. */
  recover(state, { at, hasLeft = false }) {
    const since = state.failedFrom ?? at;
    const outage = withLeft({ from: since, until: at, since }, state, hasLeft);
    return { ...state, ...ENDED, lastSuccessAt: at, suspect: null, outage };
  },
  /** A test that succeeded makes everything due. It is as new if only the outage that ends here refused it. */
  test(state, { at }) {
    const since = modeAt(state, at) === "failing" && state.failedFrom !== null && { since: state.failedFrom };
    return { ...state, ...ENDED, suspect: null, outage: { from: 0, until: at, ...since }, testedAt: at };
  },
  /** Another receiver has refused nothing. */
  renew: (state, { at }) => ({ ...state, ...ENDED, suspect: null, outage: { from: 0, until: at, since: 0 } }),
  fail(state, { at, isKnown = false }) {
    if (isKnown && state.failedFrom === null) return state;
    // A time in the future is from before the clock was set back.
    const failedFrom = Math.min(state.failedFrom ?? at, at);
    return { ...state, failedFrom, failedTo: at, failures: state.failures + 1, probedAt: at };
  },
  /** New events, which are attempted more often, do not put off the next probe. */
  probe(state, { at, isProbe = false }) {
    return { ...state, failedTo: at, ...(isProbe && { probedAt: at, probes: state.probes + 1 }) };
  },
  note(state, { at, resource = "" }) {
    const recent = state.pauses.filter((one) => one.resource !== resource && Math.abs(at - one.at) <= PAUSES_WITHIN);
    return { ...state, pauses: [...recent, { resource, at }].slice(-PAUSES_OF_A_LIMIT) };
  },
  hold: (state, { until = 0 }) => ({ ...state, limitedUntil: Math.max(state.limitedUntil, until) }),
  release: (state) => ({ ...state, limitedUntil: 0, pauses: [] }),
} satisfies { [name: string]: Change };

/** An outage, together with the one before if something of that still waits. */
function withLeft(stretch: NonNullable<State["outage"]>, { outage }: State, hasLeft: boolean): State["outage"] {
  if (outage === null || !hasLeft) return stretch;
  const since = Math.min(stretch.since ?? Infinity, outage.since ?? Infinity);
  return { ...stretch, from: Math.min(stretch.from, outage.from), ...(since < Infinity && { since }) };
}

export type Transition = readonly [to: Mode, ...changes: (keyof typeof CHANGES)[]];
export type Transitions = { readonly [from in Mode]: { readonly [on in Happening["kind"]]: Transition } };

/** Every change of the state of an endpoint. docs/decisions/webhooks.md draws it. */
export const TRANSITIONS: Transitions = {
  ok: {
    taken: ["ok", "succeed"],
    refused: ["ok", "fail"],
    paused: ["ok", "fail", "note"],
    limited: ["limited", "fail", "note", "hold"],
    tested: ["ok", "test", "release"],
    renewed: ["ok", "renew", "release"],
  },
  limited: {
    // What was sent before says nothing of the limit.
    taken: ["limited", "succeed"],
    refused: ["limited", "fail"],
    paused: ["limited", "fail", "note"],
    limited: ["limited", "fail", "note", "hold"],
    tested: ["ok", "test", "release"],
    renewed: ["ok", "renew", "release"],
  },
  failing: {
    taken: ["ok", "recover", "release"],
    refused: ["failing", "probe"],
    paused: ["failing", "probe", "note", "hold"],
    limited: ["failing", "probe", "note", "hold"],
    tested: ["ok", "test", "release"],
    renewed: ["ok", "renew", "release"],
  },
};

/** What time alone changes. */
export const CLOCK: readonly (readonly [from: Mode, after: string, to: Mode])[] = [
  ["ok", "30 s without a success", "failing"],
  ["limited", "the end of the pause", "ok"],
  ["limited", "30 s without a success", "failing"],
];

export function modeAt({ failedFrom, limitedUntil }: State, now: number): Mode {
  if (failedFrom !== null && now >= failedFrom + FAILS_AFTER) return "failing";
  return limitedUntil > now ? "limited" : "ok";
}

/** Times in the future are from before the clock was set back: they count as now. */
function untilNow(state: State, now: number): State {
  const { lastSuccessAt, testedAt, outage } = state;
  if (Math.max(lastSuccessAt ?? 0, testedAt, outage?.until ?? 0) <= now) return state;
  return {
    ...state,
    lastSuccessAt: lastSuccessAt && Math.min(lastSuccessAt, now),
    testedAt: Math.min(testedAt, now),
    outage: outage && { ...outage, until: Math.min(outage.until, now) },
  };
}

/** The state after something happened. */
export function next(state: State, happening: Happening, transitions = TRANSITIONS): State {
  const [, ...changes] = transitions[modeAt(state, happening.at)][happening.kind];
  return changes.reduce((before, change) => CHANGES[change](before, happening), untilNow(state, happening.at));
}

/** Whether a pause for a resource is the third one lately. */
export const isLimit = (state: State, resource: string, at: number): boolean =>
  CHANGES.note(state, { kind: "paused", at, resource }).pauses.length === PAUSES_OF_A_LIMIT;
