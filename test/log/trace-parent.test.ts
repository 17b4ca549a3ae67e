import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseTraceParent } from "../../src/log/trace-parent.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";
const IDS = { traceId: TRACE, parentSpanId: SPAN };

describe("a traceparent header (W3C Trace Context, section 3.2)", () => {
  test.each([
    ["of version 00", `00-${TRACE}-${SPAN}-01`],
    ["of a trace that is not sampled", `00-${TRACE}-${SPAN}-00`],
    ["of a later version", `cc-${TRACE}-${SPAN}-01`],
    ["of a later version with unknown fields", `cc-${TRACE}-${SPAN}-01-what-the-future-brings`],
  ])("%s is read", (_, header) => {
    expect(parseTraceParent(header)).toEqual(IDS);
  });

  test.each([
    ["that is empty", ""],
    ["of version ff", `ff-${TRACE}-${SPAN}-01`],
    ["of version 00 with another field", `00-${TRACE}-${SPAN}-01-more`],
    ["of version 00 with a dash at its end", `00-${TRACE}-${SPAN}-01-`],
    ["of a later version with other characters after the flags", `cc-${TRACE}-${SPAN}-01.more`],
    ["in capitals", `00-${TRACE.toUpperCase()}-${SPAN}-01`],
    ["with a trace of zeros", `00-${"0".repeat(32)}-${SPAN}-01`],
    ["with a span of zeros", `00-${TRACE}-${"0".repeat(16)}-01`],
    ["with a short trace", `00-${TRACE.slice(1)}-${SPAN}-01`],
    ["with a short span", `00-${TRACE}-${SPAN.slice(1)}-01`],
    ["without flags", `00-${TRACE}-${SPAN}`],
    ["with other characters", `00-${"g".repeat(32)}-${SPAN}-01`],
    ["after a space", ` 00-${TRACE}-${SPAN}-01`],
    // Two headers, joined as by Headers.
    ["that came twice", `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`],
    ["that came twice in a later version", `cc-${TRACE}-${SPAN}-01, cc-${TRACE}-${SPAN}-01`],
  ])("%s is ignored", (_, header) => {
    expect(parseTraceParent(header)).toBeUndefined();
  });

  test("with any well-formed ids is read, and is ignored when one character is replaced by an invalid one", () => {
    const hex = (length: number) => fc.stringMatching(new RegExp(`^[0-9a-f]{${length - 1}}[1-9a-f]$`));
    fc.assert(
      fc.property(hex(32), hex(16), hex(2), fc.nat(54), (traceId, parentSpanId, flags, index) => {
        const header = `00-${traceId}-${parentSpanId}-${flags}`;
        expect(parseTraceParent(header)).toEqual({ traceId, parentSpanId });
        expect(parseTraceParent(`${header.slice(0, index)}G${header.slice(index + 1)}`)).toBeUndefined();
      }),
    );
  });
});
