// npm run bench:paging: what a page of the list costs at the start and at the depth of half a million animals, with and without
// a status, in a local D1 with one million of them. The production bundle in workerd, asked over HTTP.
import { readdirSync, readFileSync } from "node:fs";
import { convertV4MiniflareOptions, Miniflare } from "miniflare";
import { generateKey } from "../src/auth/key-format.ts";
import { keyRecordName } from "../src/auth/key-record.ts";
import { buildBundle } from "../scripts/wrangler.ts";

const ANIMALS = 1_000_000;
/** One animal in this many is sold; all others are available. */
const RARE = 10_000;
const LIMIT = 20;
const WARM_UP = 50;
const ROUNDS = 300;

/** The rows that D1 read for the last request, from the log line of the service. */
let rowsRead = Number.NaN;

const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    handleStructuredLogs({ message }) {
      if (message.startsWith("{")) rowsRead = JSON.parse(message).d1RowsRead;
    },
    workers: [
      {
        name: "petstore",
        modules: [{ type: "ESModule", path: `${await buildBundle("production")}/index.js` }],
        compatibilityDate: "2026-10-20",
        bindings: { ENVIRONMENT: "production" },
        d1Databases: { DB: "pets" },
        kvNamespaces: { API_KEYS: "keys" },
        ratelimits: { RATE_LIMITER: { namespace_id: "1", simple: { limit: 1_000_000, period: 60 } } },
      },
    ],
  }),
);
try {
  const url = await miniflare.ready;
  const database = await miniflare.getD1Database("DB", "petstore");
  const key = generateKey("production");
  const record = { id: "bench", name: "bench", scopes: ["pets:read"], createdAt: "2026-01-01T00:00:00.000Z" };
  const keys = await miniflare.getKVNamespace("API_KEYS", "petstore");
  await keys.put(await keyRecordName(key), JSON.stringify(record));
  const middle = await cursorAfter(ANIMALS / 2);
  await fill();

  const pages = {
    "first page": `?limit=${LIMIT}`,
    "page at depth 500,000": `?limit=${LIMIT}&cursor=${middle}`,
    "first page, status of 1 in 10,000": `?limit=${LIMIT}&status=sold`,
    "page at depth 500,000, status of 1 in 10,000": `?limit=${LIMIT}&status=sold&cursor=${middle}`,
  };
  const times = new Map(Object.keys(pages).map((name) => [name, [] as number[]]));
  const rows = new Map<string, Set<number>>(Object.keys(pages).map((name) => [name, new Set()]));
  // Interleaved, so that whatever else the machine does meets all of them alike.
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const [name, query] of Object.entries(pages)) {
      const start = performance.now();
      const animals: unknown[] = await (await list(query)).json();
      if (round >= WARM_UP) times.get(name)?.push(performance.now() - start);
      if (animals.length !== LIMIT) throw new Error(`${name}: ${animals.length} animals`);
      rows.get(name)?.add(rowsRead);
    }
  }

  console.log(
    `${ANIMALS.toLocaleString("en")} animals, pages of ${LIMIT}, ${ROUNDS} requests each, milliseconds over HTTP`,
  );
  for (const name of Object.keys(pages)) {
    const sorted = (times.get(name) ?? []).toSorted((a, b) => a - b);
    const at = (share: number) => (sorted[Math.floor(sorted.length * share)] ?? Number.NaN).toFixed(2);
    const read = [...(rows.get(name) ?? [])].join(" or ");
    console.log(`${name.padEnd(46)} p25 ${at(0.25)}  median ${at(0.5)}  p75 ${at(0.75)}  rows read ${read}`);
  }

  function list(query: string): Promise<Response> {
    return fetch(new URL(`/v1/pets${query}`, url), { headers: { Authorization: `Bearer ${key}` } });
  }

  /** The cursor that the service hands out for the page after this id. */
  async function cursorAfter(id: number): Promise<string | null> {
    for (const file of readdirSync("drizzle").filter((name) => name.endsWith(".sql"))) {
      for (const sql of readFileSync(`drizzle/${file}`, "utf8").split("--> statement-breakpoint")) {
        await database.prepare(sql).run();
      }
    }
    const insert = database.prepare("INSERT INTO pets (id, name, category_id, status) VALUES (?, 'x', 1, 'sold')");
    await database.batch([insert.bind(id), insert.bind(id + 1)]);
    const next = /<(.+)>/.exec((await list("?limit=1")).headers.get("Link") ?? "")?.[1];
    await database.prepare("DELETE FROM pets").run();
    return new URL(next ?? "", url).searchParams.get("cursor");
  }

  async function fill(): Promise<void> {
    const batch = 100_000;
    for (let start = 0; start < ANIMALS; start += batch) {
      await database
        .prepare(
          `WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
           INSERT INTO pets (id, name, category_id, status)
           SELECT i, 'Animal ' || i, i % 100, iif(i % ${RARE} = 0, 'sold', 'available') FROM n`,
        )
        .bind(start + 1, start + batch)
        .run();
    }
  }
} finally {
  await miniflare.dispose();
}
