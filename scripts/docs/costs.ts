// The tables of docs/capacity.md: the costs that test/cost.test.ts asserts, and what Cloudflare charges for them.
import type { Cost } from "../../register/cost.ts";
import { costOf, EVENT_REMOVAL, REMOVAL, type RequestKind } from "../../test/costs.ts";
import { table, type Tables } from "./generated.ts";

interface Price {
  dollars: number;
  per: string;
  /** The number of units that the plan includes each month. */
  included: number;
  unit: string;
}

const MILLION = { per: "a million", unit: "million" };
/** The prices of the Workers Paid plan, as Cloudflare announced them for 1 December 2026. */
export const PRICES = {
  requests: { dollars: 0.3, included: 10, ...MILLION },
  "CPU time": { dollars: 0.02, included: 30, per: "a million ms", unit: "million ms" },
  "log ingestion": { dollars: 0.25, included: 50, per: "a GB", unit: "GB" },
  "log storage": { dollars: 0.1, included: 12, per: "a GB and month", unit: "GB" },
  "KV reads": { dollars: 0.5, included: 10, ...MILLION },
  "D1 rows read": { dollars: 0.001, included: 25_000, ...MILLION },
  "D1 rows written": { dollars: 1, included: 50, ...MILLION },
  "D1 storage": { dollars: 0.75, included: 5, per: "a GB and month", unit: "GB" },
} satisfies { [resource: string]: Price };
export const PLAN_DOLLARS = 5;

/** Milliseconds of CPU time that the prices assume for every request. */
export const ASSUMED_CPU = 0.2;

/** Bytes that the prices assume for a line of the log, with the fields that Cloudflare adds. test/costs.ts has those of the service. */
export const ASSUMED_LINE = 1_000;
/** Days for which a line is stored, and in a month. */
export const LOG_DAYS = 7;
const MONTH_DAYS = 30;
/** GB of a million lines, and the months for which they are stored. */
const GIGABYTES = ASSUMED_LINE / 1_000;
export const STORED_MONTHS = LOG_DAYS / MONTH_DAYS;
/** Dollars for a million lines beyond what is included. */
export const LOG_DOLLARS =
  GIGABYTES * (PRICES["log ingestion"].dollars + STORED_MONTHS * PRICES["log storage"].dollars);

/** The requests in the table of rows. */
const COUNTED: RequestKind[] = [
  "a list of 20",
  "a list of 100",
  "a list by category",
  "a list of 100 ids",
  "a search among 602 animals that finds nothing",
  "an animal",
  "an animal that has not changed",
  "a read from memory",
  "an inventory of 602 animals",
  "an inventory that another isolate counted",
  "a creation",
  "a creation with an Idempotency-Key",
  "a retry of a creation",
  "a batch of 100",
  "a batch of 100 with an Idempotency-Key",
  "a change of a name",
  "a change of a status",
  "a change of 100 names",
  "a change of 100 names with an Idempotency-Key",
  "a deletion",
  "a creation of a category",
  "a placement",
  "a placement with an Idempotency-Key",
  "a shipment",
  "a cancellation",
  "a page of 100 events",
  "a page of events of one type",
  "a page of no new events",
  "a body that breaks a rule",
  "a key of the wrong form",
  "an unknown key",
];

/** The requests in the table of dollars. */
const PRICED: RequestKind[] = [
  "a list of 20",
  "a list of 100",
  "an animal",
  "a creation",
  "a creation with an Idempotency-Key",
  "a change of a status",
  "a deletion",
  "a placement",
  "a placement with an Idempotency-Key",
  "an inventory of 602 animals",
  "an inventory that another isolate counted",
  "a body that breaks a rule",
  "an unknown key",
];

/** The events of the requests in the table of dollars. */
const EVENTS: { [kind in RequestKind]?: number } = {
  "a creation": 1,
  "a creation with an Idempotency-Key": 1,
  "a change of a status": 1,
  "a deletion": 1,
  "a placement": 2,
  "a placement with an Idempotency-Key": 2,
};

/** The rows of a request that the hourly job removes later. */
export function rowsToRemove(kind: RequestKind): { keys: number; events: number } {
  return { keys: kind.endsWith("with an Idempotency-Key") ? 1 : 0, events: EVENTS[kind] ?? 0 };
}

/** The cost of a request, with the removal of its key and of its events. */
export function wholeCost(kind: RequestKind): Cost {
  const cost = costOf(kind);
  const { keys, events } = rowsToRemove(kind);
  return {
    ...cost,
    rowsRead: cost.rowsRead + keys * REMOVAL.rowsRead + events * EVENT_REMOVAL.rowsRead,
    rowsWritten: cost.rowsWritten + keys * REMOVAL.rowsWritten + events * EVENT_REMOVAL.rowsWritten,
  };
}

/** Dollars for a million requests, by resource. */
function dollarsOf(kind: RequestKind) {
  const { kvReads, rowsRead, rowsWritten } = wholeCost(kind);
  return {
    Requests: PRICES.requests.dollars,
    CPU: ASSUMED_CPU * PRICES["CPU time"].dollars,
    Log: LOG_DOLLARS,
    "Rows read": rowsRead * PRICES["D1 rows read"].dollars,
    "Rows written": rowsWritten * PRICES["D1 rows written"].dollars,
    KV: kvReads * PRICES["KV reads"].dollars,
  };
}

/** The sum of `dollarsOf`. */
export function totalOf(kind: RequestKind): number {
  return Object.values(dollarsOf(kind)).reduce((sum, dollars) => sum + dollars, 0);
}

export const COST_TABLES: Tables = {
  costs: () =>
    table(
      ["Request", "D1 round trips", "Rows read", "Rows written", "KV reads"],
      COUNTED.map((kind) => {
        const { d1RoundTrips, rowsRead, rowsWritten, kvReads } = costOf(kind);
        return [kind, ...[d1RoundTrips, rowsRead, rowsWritten, kvReads].map(String)];
      }),
    ),

  prices: () =>
    table(
      ["Resource", "Price", `Included in the plan's $${PLAN_DOLLARS} a month`],
      Object.entries(PRICES).map(([resource, { dollars, per, included, unit }]) => [
        resource,
        `$${dollars.toFixed(dollars < 0.01 ? 3 : 2)} ${per}`,
        `${included.toLocaleString("en")} ${unit}`,
      ]),
    ),

  dollars: () =>
    table(
      ["Request", ...Object.keys(dollarsOf("an animal")), "Total"],
      PRICED.map((kind) => [
        kind,
        ...[...Object.values(dollarsOf(kind)), totalOf(kind)].map((dollars) =>
          dollars === 0 ? "0" : dollars.toFixed(3),
        ),
      ]),
    ),
};
