// What requests cost.

/** The storage operations of a request, which determine its price and its round trips. */
export interface Cost {
  kvReads: number;
  d1RoundTrips: number;
  rowsRead: number;
  rowsWritten: number;
}

/** A request, with the key of the test unless it names another. */
export interface CostRequest {
  method?: string;
  key?: string;
  /** Sends a token for this customer, from the key of the test. */
  customer?: string;
  headers?: Record<string, string>;
  /** Sent as JSON. */
  body?: object;
}

/** A request with its cost. Raise a figure only on purpose. */
export type CostRow = readonly [cost: Cost, status: number, path: string, request?: CostRequest];

export const NOTHING: Cost = { kvReads: 0, d1RoundTrips: 0, rowsRead: 0, rowsWritten: 0 };
export const rows = (rowsRead: number, rowsWritten = 0): Cost => ({
  ...NOTHING,
  d1RoundTrips: 1,
  rowsRead,
  rowsWritten,
});

export const post = (body: object, headers = {}): CostRequest => ({ method: "POST", body, headers });
export const put = (body: object): CostRequest => ({ method: "PUT", body });
export const patch = (body: object, headers = {}): CostRequest => ({ method: "PATCH", body, headers });
/** Headers with a key of this name. */
export const once = (name: string) => ({ "Idempotency-Key": name });
export const REMOVE: CostRequest = { method: "DELETE" };

export const REX = { name: "Rex", categoryId: 1 };
/** Stands for the cursor at the present end of the feed. */
export const END = "END";
