import type { Json } from "../exact/json.ts";

/** What a read found: all that its response needs, and nothing that belongs to one request. */
export interface Found<Body> {
  readonly body: Json<Body>;
  /** Of a single resource. */
  readonly version?: number;
  /** The cursor of the next page, if there is one. */
  readonly next?: string | undefined;
}
