import { found, type Route, routes } from "./route.ts";

/** A fake of Workers Logs, read live or from the store. */
export class Logs {
  /** The JSON lines of every Worker, the oldest first. */
  lines: object[] = [];
  /** The filter of each tail, by its id. */
  readonly tails = new Map<string, { filters: { query?: string }[] }>();

  /** @param address of the API, for WebSockets. */
  routes(address: () => string): Route[] {
    const tails = "/workers/scripts/:name/tails";
    return routes({
      [`POST ${tails}`]: async ({ body }) => {
        const id = crypto.randomUUID();
        this.tails.set(id, (await body.json()) as { filters: { query?: string }[] });
        const url = `${address().replace("http", "ws")}/tails/${id}`;
        return { id, url, expires_at: new Date(Date.now() + 3_600_000).toISOString() };
      },
      [`DELETE ${tails}/:tail`]: ({ params }) => {
        this.tails.delete(params["tail"] ?? "");
        return null;
      },
      "POST /workers/observability/telemetry/query": () => ({
        events: { events: this.lines.map((source) => ({ source })) },
      }),
    });
  }

  /** The messages of a tail, one event for each matching line. */
  messages(id: string): string[] {
    const { filters } = found(this.tails.get(id), 404, 10_009, "There is no such tail.");
    const query = filters.find(({ query }) => query !== undefined)?.query ?? "";
    return this.lines
      .map((line) => JSON.stringify(line))
      .filter((line) => line.includes(query))
      .map((line) => JSON.stringify({ outcome: "ok", logs: [{ level: "log", message: [line] }], exceptions: [] }));
  }
}
