/** A statement, with values that JSON has, or names of those that it has not. */
export interface Ask {
  sql: string;
  values: unknown[];
}
type Outcome = { rows: unknown[]; changes: number | undefined }[] | { failure: string };

/** Values that JSON has not. */
export const ODD: { [name: string]: unknown } = {
  undefined,
  "a bigint": 1n,
  "not a number": NaN,
  infinity: Infinity,
  "minus zero": -0,
  "a date": new Date(0),
  "an object": {},
  "a list of texts": ["a"],
  "a function": () => 1,
  bytes: new Uint8Array([0, 255]),
  "half of a pair": "a\ud800b",
};

/** Runs statements as one batch, or a single one on its own. */
export async function outcome(database: Pick<D1Database, "withSession">, asks: Ask[]): Promise<Outcome> {
  const session = database.withSession("first-primary");
  try {
    const prepared = asks.map(({ sql, values }) =>
      session.prepare(sql).bind(...values.map((value) => (String(value) in ODD ? ODD[String(value)] : value))),
    );
    const [single] = prepared;
    const results = prepared.length === 1 && single ? [await single.all()] : await session.batch(prepared);
    return results.map(({ results, meta }) => ({
      rows: results,
      changes: prepared.length === 1 ? meta.changes : undefined,
    }));
  } catch (error) {
    // The service looks for these words only. The texts of SQLite differ between its versions.
    return { failure: /SQLITE_CONSTRAINT|D1_TYPE_ERROR/.exec((error as Error).message)?.[0] ?? "another error" };
  }
}

/** In workerd, because Miniflare's proxy for another process changes texts. */
export default {
  fetch: async (request, { DB }) => Response.json(await outcome(DB, await request.json())),
} satisfies ExportedHandler<{ DB: D1Database }>;
