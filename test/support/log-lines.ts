import { vi } from "vitest";

export type Line = Record<string, unknown>;

/** The lines that the service writes during `run`, on both streams. */
export async function linesOf(run: () => Promise<unknown>): Promise<{ log: Line[]; error: Line[] }> {
  const log = vi.spyOn(console, "log").mockImplementation(() => {});
  const error = vi.spyOn(console, "error").mockImplementation(() => {});
  try {
    await run();
    const read = ({ mock }: typeof log): Line[] => mock.calls.map(([line]) => JSON.parse(line));
    return { log: read(log), error: read(error) };
  } finally {
    log.mockRestore();
    error.mockRestore();
  }
}
