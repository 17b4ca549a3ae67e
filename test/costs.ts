/** The storage operations of a request, which determine its price and its round trips. */
export interface Cost {
  kvReads: number;
  d1RoundTrips: number;
  rowsRead: number;
  rowsWritten: number;
}

export const NOTHING: Cost = { kvReads: 0, d1RoundTrips: 0, rowsRead: 0, rowsWritten: 0 };
export const rows = (rowsRead: number, rowsWritten = 0): Cost => ({
  ...NOTHING,
  d1RoundTrips: 1,
  rowsRead,
  rowsWritten,
});

/**
 * Every kind of request, in the order in which test/cost.test.ts sends them. Raise a figure only on purpose. The tables of
 * docs/capacity.md are generated from them.
 */
export const COSTS = {
  "a list of 20": rows(21),
  "a list of 100": rows(101),
  "a list by status": rows(21),
  "a creation": rows(7, 5),
  "a creation with an Idempotency-Key": rows(12, 7),
  "a retry of a creation": rows(6),
  "another creation with a known Idempotency-Key": rows(6),
  "a list by a small category": rows(4),
  "a list by category": rows(23),
  "a list by category and status": rows(21),
  "a list of 100 ids": rows(300),
  "a list by all filters": rows(9),
  "an animal": rows(1),
  "an animal that has not changed": rows(1),
  "a list with versions, newest first": rows(21),
  "a read with max-age": rows(1),
  "a read from memory": NOTHING,
  "the presented key": NOTHING,
  "a batch of 100": rows(802, 401),
  "a batch of 100 with an Idempotency-Key": rows(1006, 403),
  "a retry of a batch": rows(108),
  "a change of a name": rows(5, 2),
  "a change of a status": rows(6, 4),
  "a change of a status with an Idempotency-Key": rows(11, 6),
  "a retry of a change": rows(8),
  "a change to the current values with an Idempotency-Key": rows(8, 2),
  "a change of everything": rows(7, 4),
  "a change of nothing": rows(1),
  "a change to the current values": rows(3),
  "a change with another version": rows(4),
  "a change of an unknown animal": rows(3),
  "a deletion": rows(5, 2),
  "a deletion of an unknown animal": rows(3),
  "a list of categories": rows(21),
  "a creation of a category": rows(8, 4),
  "a creation of a category with an Idempotency-Key": rows(12, 6),
  "a category with a name that another has": rows(6),
  "a new name of a category": rows(6, 3),
  "a new description of a category": rows(5, 2),
  "a name that another category has": rows(5),
  "a deletion of a category": rows(5, 2),
  "a deletion of a category that an animal names": rows(5),
  "an unknown animal": rows(1),
  "an id that is not an int64": NOTHING,
  "a query that breaks a rule": NOTHING,
  "a forged cursor": NOTHING,
  "a bad bookmark": NOTHING,
  "a body that breaks a rule": NOTHING,
  "a body of another media type": NOTHING,
  "a placement": rows(14, 9),
  "a placement with an Idempotency-Key": rows(18, 11),
  "a retry of a placement": rows(8),
  "a placement for an animal on order": rows(7),
  "a list of orders": rows(5),
  "a list of the orders of an animal": rows(2),
  "an order": rows(1),
  "a shipment": rows(11, 8),
  "a shipment repeated": rows(3),
  "a cancellation": rows(11, 8),
  "a cancellation repeated": rows(3),
  "a patched status of an animal on order": rows(5),
  "a deletion of an animal on order": rows(5),
  "a category": rows(1),
  "an inventory of 602 animals": rows(602),
  "an inventory from memory": NOTHING,
  "the newest place of the feed": rows(5),
  "a page of 100 events": rows(107),
  "a page of events of one type": rows(5_009),
  "a page of no new events": rows(2),
  "an unknown path": NOTHING,
  "an unsupported method": NOTHING,
  "a key of the wrong form": NOTHING,
  "a key of another environment": NOTHING,
  "an unknown key": { ...NOTHING, kvReads: 1 },
  "the health check": NOTHING,
} satisfies { [request: string]: Cost };
export type RequestKind = keyof typeof COSTS;

/** The cost of the hourly job for each `Idempotency-Key` that it removes. */
export const REMOVAL = { rowsRead: 4, rowsWritten: 1 };
/** The same for an event. Every change of a resource writes one. */
export const EVENT_REMOVAL = { rowsRead: 3, rowsWritten: 1 };

/**
 * Bytes of the database, with the indexes: for an animal with a name of 12 characters, for an `Idempotency-Key` of 36, and for the event of such an animal. Bytes of the line
 * in the log for a list of 20, without what Cloudflare adds.
 */
export const BYTES = { animal: 80, idempotencyKey: 290, event: 130, logLine: 330 };
