// The tables of docs/capacity.md: the costs that test/cost.test.ts asserts, and what Cloudflare charges for them.
import type { Cost } from "../../register/cost.ts";
import { costOf, EVENT_REMOVAL, REMOVAL, type RequestKind } from "../../test/costs.ts";
import { RECORD_SECONDS } from "../../src/auth/key-lookup.ts";
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
const PRICES = {
  requests: { dollars: 0.3, included: 10, ...MILLION },
  "CPU time": { dollars: 0.02, included: 30, per: "a million ms", unit: "million ms" },
  "log ingestion": { dollars: 0.25, included: 50, per: "a GB", unit: "GB" },
  "log storage": { dollars: 0.1, included: 12, per: "a GB and month", unit: "GB" },
  "KV reads": { dollars: 0.5, included: 10, ...MILLION },
  "D1 rows read": { dollars: 0.001, included: 25_000, ...MILLION },
  "D1 rows written": { dollars: 1, included: 50, ...MILLION },
  "D1 storage": { dollars: 0.75, included: 5, per: "a GB and month", unit: "GB" },
} satisfies { [resource: string]: Price };
const PLAN_DOLLARS = 5;

/** Milliseconds of CPU time that the prices assume for every request. */
const ASSUMED_CPU = 0.2;

/** Bytes that the prices assume for a line of the log, with the fields that Cloudflare adds. test/costs.ts has those of the service. */
const ASSUMED_LINE = 1_000;
/** Days for which a line is stored, and in a month. */
const LOG_DAYS = 7;
const MONTH_DAYS = 30;
/** GB of a million lines, and the months for which they are stored. */
const GIGABYTES = ASSUMED_LINE / 1_000;
const STORED_MONTHS = LOG_DAYS / MONTH_DAYS;
/** Dollars for a million lines beyond what is included. */
const LOG_DOLLARS = GIGABYTES * (PRICES["log ingestion"].dollars + STORED_MONTHS * PRICES["log storage"].dollars);

/** The requests in the table of costs, with the number of their events. */
const SHOWN: { [kind in RequestKind]?: number } = {
  "a list of 20": 0,
  "a list of 100": 0,
  "a list of 100 ids": 0,
  "a search that finds nothing": 0,
  "an animal": 0,
  "a read from memory": 0,
  "an inventory of 803 animals": 0,
  "an inventory that another isolate counted": 0,
  "a creation": 1,
  "a creation with an Idempotency-Key": 1,
  "a retry of a creation": 0,
  "a batch of 100 with an Idempotency-Key": 100,
  "a change of a name": 1,
  "a change of a status": 1,
  "a change of 100 names with an Idempotency-Key": 100,
  "an import of 100 new animals": 100,
  "an import of 100 equal animals": 0,
  "a deletion": 1,
  "a creation of a category": 1,
  "a placement": 2,
  "a placement with an Idempotency-Key": 2,
  "a shipment": 2,
  "a cancellation": 2,
  "a page of 100 events": 0,
  "a page of events of one type": 0,
  "a page of no new events": 0,
  "an unknown key": 0,
};

/** The rows of a request that the hourly job removes later. */
function rowsToRemove(kind: RequestKind): { keys: number; events: number } {
  return { keys: kind.endsWith("with an Idempotency-Key") ? 1 : 0, events: SHOWN[kind] ?? 0 };
}

/** The cost of a request, with the removal of its key and of its events. */
function wholeCost(kind: RequestKind): Cost {
  const cost = costOf(kind);
  const { keys, events } = rowsToRemove(kind);
  return {
    ...cost,
    rowsRead: cost.rowsRead + keys * REMOVAL.rowsRead + events * EVENT_REMOVAL.rowsRead,
    rowsWritten: cost.rowsWritten + keys * REMOVAL.rowsWritten + events * EVENT_REMOVAL.rowsWritten,
  };
}

/** Dollars for a million requests. */
export function totalOf(kind: RequestKind): number {
  const { kvReads, rowsRead, rowsWritten } = wholeCost(kind);
  return (
    PRICES.requests.dollars +
    ASSUMED_CPU * PRICES["CPU time"].dollars +
    LOG_DOLLARS +
    rowsRead * PRICES["D1 rows read"].dollars +
    rowsWritten * PRICES["D1 rows written"].dollars +
    kvReads * PRICES["KV reads"].dollars
  );
}

/** Millions of requests in the example of a month, and the pairs of a key and an isolate that are always in use. */
const LISTS = 95;
const CREATIONS = 5;
const PAIRS = 350;

/** The sentences of the example. */
function month(): string {
  const list = wholeCost("a list of 20");
  const creation = wholeCost("a creation with an Idempotency-Key");
  /** Dollars for millions of a resource, or GB of it. */
  const price = (resource: keyof typeof PRICES, amount: number) =>
    Math.max(0, amount - PRICES[resource].included) * PRICES[resource].dollars;
  const kvReads = (PAIRS * MONTH_DAYS * 86_400) / RECORD_SECONDS / 1e6;
  const gigabytes = (LISTS + CREATIONS) * GIGABYTES;
  const dollars = {
    requests: price("requests", LISTS + CREATIONS),
    log: price("log ingestion", gigabytes) + price("log storage", gigabytes * STORED_MONTHS),
    kv: price("KV reads", kvReads),
  };
  const rowsRead = LISTS * list.rowsRead + CREATIONS * creation.rowsRead;
  const total = PLAN_DOLLARS + dollars.requests + dollars.log + dollars.kv;
  return [
    `- ${LISTS} million are lists of 20, and ${CREATIONS} million are creations with an \`Idempotency-Key\`.`,
    `- Requests cost $${dollars.requests.toFixed(2)}, and the log $${dollars.log.toFixed(2)}.`,
    `- An isolate reads KV once in ${RECORD_SECONDS} seconds for each key in use. With ${PAIRS} pairs of a key and an isolate that are always in use, ${kvReads.toFixed(0)} million reads cost $${dollars.kv.toFixed(2)}.`,
    `- The rest is included: ${rowsRead.toLocaleString("en")} million rows read and ${CREATIONS * creation.rowsWritten} million rows written.`,
    `- With the plan's $${PLAN_DOLLARS}, the total is **$${total.toFixed(0)}**.`,
  ].join("\n");
}

export const COST_TABLES: Tables = {
  month,

  costs: () =>
    table(
      ["Request", "Rows read", "Rows written", "$ a million"],
      (Object.keys(SHOWN) as RequestKind[]).map((kind) => {
        const { rowsRead, rowsWritten } = costOf(kind);
        return [kind, rowsRead.toLocaleString("en"), String(rowsWritten), totalOf(kind).toFixed(2)];
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
};
