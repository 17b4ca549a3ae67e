/** The position of a request in the trace of its caller (W3C Trace Context, section 3.2). */
export interface TraceParent {
  traceId: string;
  /** The caller's span. */
  parentSpanId: string;
}

/**
 * Reads at most 56 characters: the four fields of version 00, and the dash before the fields of a later version. The version `ff` and ids of
 * zeros are invalid.
 */
const TRACE_PARENT = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-[0-9a-f]{2}(?:-|$)/;
/** The length of a header of version 00, which has no further fields. */
const LENGTH = 55;

/** The ids in a `traceparent` header. Returns undefined for a missing or malformed header, which is not an error. */
export function parseTraceParent(header: string): TraceParent | undefined {
  const [, version, traceId, parentSpanId] = TRACE_PARENT.exec(header) ?? [];
  if (version === undefined || traceId === undefined || parentSpanId === undefined) return undefined;
  return version === "00" && header.length !== LENGTH ? undefined : { traceId, parentSpanId };
}
