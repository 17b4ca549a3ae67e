/** What a read found: all that its response needs, and nothing that belongs to one request. */
export interface Found<Body> {
  /** JSON. */
  readonly body: string;
  /** Of a single resource. */
  readonly version?: number;
  /** The cursor of the next page, if there is one. */
  readonly next?: string | undefined;
  /** Never set; it carries the type of the body. */
  readonly type?: Body;
}

/** A single resource, with its version. */
export function toFound<Row extends { version: number }, Body>(row: Row, toBody: (row: Row) => Body): Found<Body> {
  return { body: JSON.stringify(toBody(row)), version: row.version };
}
