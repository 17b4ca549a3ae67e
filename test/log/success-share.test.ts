import { afterEach, describe, expect, test, vi } from "vitest";
import { weightOf } from "../../src/log/share.ts";
import { call } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { key } from "../support/keys.ts";
import { linesOf } from "../support/log-lines.ts";

afterEach(() => {
  vi.restoreAllMocks();
});

/** A setting as in wrangler.toml. The cast is needed because its type is the literal value there. */
const share = (setting: unknown) => ({ LOG_SUCCESS_SHARE: setting }) as Partial<Env>;

/** The number of lines written for so many requests, by their weight. */
function count(requests: number, status: number, setting: unknown): { lines: number; weights: unknown[] } {
  const weights = Array.from({ length: requests }, () => weightOf(status, setting));
  const written = weights.filter((weight) => weight !== undefined);
  return { lines: written.length, weights: [...new Set(written)] };
}

describe("LOG_SUCCESS_SHARE", () => {
  test.each(["1", "1.0", 1])("%j logs every success", (setting) => {
    expect(count(1_000, 200, setting)).toEqual({ lines: 1_000, weights: [1] });
  });

  test.each(["0", "0.0", 0])("%j logs no success", (setting) => {
    expect(count(1_000, 200, setting).lines).toBe(0);
  });

  test.each(["0.25", 0.25])("%j logs a quarter, and each line represents four requests", (setting) => {
    const { lines, weights } = count(10_000, 200, setting);
    expect(weights).toEqual([4]);
    // Eleven standard deviations: 2,500 ± 43.
    expect(lines).toBeGreaterThan(2_000);
    expect(lines).toBeLessThan(3_000);
  });

  test.each([undefined, null, "", " ", "half", "1.5", "-0.5", "2", "0x0", "1e-1", ".5", "0,5", Number.NaN, {}])(
    "%j is not a share, so every success is logged",
    (setting) => {
      expect(count(100, 200, setting)).toEqual({ lines: 100, weights: [1] });
    },
  );

  test.each([400, 401, 403, 404, 405, 408, 413, 415, 422, 429, 500, 503])("of any value logs every %i", (status) => {
    expect(count(100, status, "0")).toEqual({ lines: 100, weights: [1] });
  });

  test.each([200, 201, 204, 302, 304])("counts %i as a success", (status) => {
    expect(count(100, status, "0").lines).toBe(0);
  });
});

describe("the log of a service with LOG_SUCCESS_SHARE", () => {
  const request = (...sent: Parameters<typeof call>) => linesOf(() => call(...sent));

  test("0.1 logs a success at random", async () => {
    const random = vi.spyOn(Math, "random");
    random.mockReturnValue(0.0999);
    const { log } = await request("/v1/pets", { key, bindings: share("0.1") });
    expect(log).toEqual([expect.objectContaining({ status: 200, weight: 10 })]);
    random.mockReturnValue(0.1);
    expect(await request("/v1/pets", { key, bindings: share("0.1") })).toEqual({ log: [], error: [] });
  });

  test("0 logs a refusal, and an outage with its cause", async () => {
    const { log: refusal } = await request("/v1/pets", { bindings: share("0") });
    expect(refusal).toEqual([expect.objectContaining({ status: 401, weight: 1 })]);
    const { DB } = observedDatabase({ when: "before", message: "D1_ERROR: D1 DB is overloaded." });
    const { log, error } = await request("/v1/pets", { key, bindings: { ...share("0"), DB } });
    const [[line], [cause]] = [log, error];
    expect(line).toMatchObject({ status: 503, errorCode: "service_unavailable", weight: 1 });
    expect(cause).toMatchObject({ level: "error", requestId: line?.["requestId"] });
  });
});
