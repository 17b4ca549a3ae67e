import type { Stored } from "./feed.ts";
import type { Heard } from "./listeners.ts";
import type { Token } from "./operators.ts";

/** A transaction that a request ran in the database. */
export interface Trip {
  kind: "trip";
  at: number;
  exchange: Exchange;
  /** The instance that ran it: the primary, or the number of a replica. Undefined when it did not run. */
  instance: "primary" | number | undefined;
  /** The number of transactions with changes that its database had run before it, and after it. */
  before: number;
  after: number;
  /** Whether the service got the results. */
  failure: string | undefined;
}

/** A request of a client, and what became of it. */
export interface Exchange {
  id: number;
  /** The step of the plan that sent it. */
  step: number;
  /** Requests of one session see each other's changes. Undefined for a request on its own. */
  session: string | undefined;
  /** The number of the call of the client, whose attempts share it. */
  call?: number | undefined;
  isolate: string;
  version: string;
  /** Whether a search may end its page early. */
  hasSmallBounds?: boolean;
  /** Whether an agent sends it, as the call of a tool. Its response is then what the result tells of that of the plain request. */
  isTool?: boolean | undefined;
  /** The API key, as operators name it. */
  apiKey: string;
  /** That the request carried in its place. */
  token?: Token | undefined;
  sentAt: number;
  method: string;
  path: string;
  headers: { readonly [name: string]: string };
  body: string | undefined;
  trips: Trip[];
  /** When the response left the service, and when it reached the client. Undefined for one that did not. */
  respondedAt?: number;
  receivedAt?: number;
  status?: number;
  responseHeaders?: Headers;
  text?: string;
  /** Faults of the storage outside of the database. */
  faults: string[];
  /** The status of a request that every state of the database refuses. */
  refusal?: number | undefined;
}

/** Something that happened to the world. */
export interface Occurrence {
  kind: "occurrence";
  at: number;
  what: string;
  /** For the checkers. */
  snapshot?: number;
  restored?: number;
  /** The state after a restore or the hourly job. */
  state?: number;
  /** The state of a snapshot. */
  noted?: number;
  /** The counters of ids after the restore of a backup, by table. */
  counters?: { [table: string]: number };
  /** A session that goes on from the bookmark of another. */
  session?: string;
  bookmark?: string;
  /** Keys that the hourly job removed, with the ages that they had in seconds. */
  forgotten?: { apiKeyId: string; key: string; age: number }[];
  /** What a follower of the feed stored. */
  stored?: Stored;
  /** What a listener heard. */
  heard?: Heard;
}

export type Event =
  | Trip
  | Occurrence
  | { kind: "request"; at: number; exchange: Exchange }
  | { kind: "response"; at: number; exchange: Exchange; isLost: boolean };

/** Faults between clients and the service, which delay no event. */
const HARMLESS = new Set([
  "request lost",
  "response lost",
  "key store fails",
  "rate limiter fails",
  "rate limit reached",
  "slow network",
  "response to a delivery lost",
]);

/** All that happened in a world, in the order of its time. */
export class History {
  readonly events: Event[] = [];
  readonly exchanges: Exchange[] = [];
  /** How often each kind of fault happened, and each thing that a world may meet. */
  readonly faults = new Map<string, number>();
  /** When those happened that may delay an event on its way to a webhook. */
  readonly delays: number[] = [];
  readonly #clock: { now: number };

  constructor(clock: { now: number } = { now: 0 }) {
    this.#clock = clock;
  }

  count(kind: string): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
  }

  fault(kind: string): void {
    this.count(kind);
    if (!HARMLESS.has(kind)) this.delays.push(this.#clock.now);
  }

  occurred(at: number, what: string, more: Omit<Occurrence, "kind" | "at" | "what"> = {}): Occurrence {
    const occurrence: Occurrence = { kind: "occurrence", at, what, ...more };
    this.events.push(occurrence);
    return occurrence;
  }

  /** One line for each event. */
  *lines(): Generator<string> {
    for (const event of this.events) yield `${(event.at / 1000).toFixed(3)} ${lineOf(event)}`;
  }
}

function lineOf(event: Event): string {
  if (event.kind === "occurrence") return event.what;
  const { exchange } = event;
  const { id, method, path, headers, body, status, responseHeaders, text } = exchange;
  if (event.kind === "request") {
    const fields = Object.entries(headers).filter(([name]) => name !== "Authorization" && name !== "Content-Length");
    const sent = fields.map(([name, value]) => `${name}: ${value}`).join("; ");
    const by = [exchange.session, exchange.apiKey, exchange.token?.customer, exchange.isolate]
      .filter((part) => part !== undefined)
      .join(" ");
    return `#${id} ${exchange.isTool ? "as a tool, " : ""}${method} ${path} ${sent} ${body ?? ""} (${by})`;
  }
  if (event.kind === "trip") {
    const { instance, before, after, failure } = event;
    const place = instance === undefined ? "nowhere" : typeof instance === "number" ? `replica ${instance}` : instance;
    return `#${id} runs at the ${place}, ${before === after ? `state ${after}` : `state ${before} to ${after}`}${failure ? `: ${failure}` : ""}`;
  }
  if (status === undefined) return `#${id} is lost`;
  const shown = ["ETag", "x-d1-bookmark", "Idempotency-Replayed", "Age", "Retry-After"].flatMap((name) =>
    responseHeaders?.has(name) ? [`${name}: ${responseHeaders.get(name)}`] : [],
  );
  return `#${id} responds ${status} ${shown.join("; ")} ${text ?? ""}${event.isLost ? " (lost)" : ""}`;
}
