import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, test } from "vitest";
import { MAX_CANDIDATES, WINDOW } from "../../src/pets/search.ts";
import { call, expectError, expectJson, nextPage } from "../support/client.ts";
import { observedDatabase } from "../support/observed-d1.ts";
import { key } from "../support/keys.ts";

/** A window of a category merges three statuses, and reads one row ahead of each of the other two. */
const AHEAD = 2;

/** Replaces all animals by some with these names, and with ids from 1. */
async function store(names: readonly string[]): Promise<void> {
  const insert = env.DB.prepare("INSERT INTO pets (id, name, category_id, status) VALUES (?, ?, 1, 'available')");
  const rows = names.map((name, index) => insert.bind(index + 1, name));
  await env.DB.batch([env.DB.prepare("DELETE FROM pets"), ...rows]);
}

interface Page {
  items: { id: number; name: string; version?: number }[];
  next: string | undefined;
  rows: number;
}

async function page(path: string): Promise<Page> {
  const { DB, statements } = observedDatabase();
  const response = await call(path, { key, bindings: { DB } });
  const items = (await expectJson(response, 200)) as Page["items"];
  expect(statements).toHaveLength(1);
  const rows = statements[0]?.meta?.rows_read ?? Number.NaN;
  expect(rows).toBeLessThanOrEqual(2 * (WINDOW + AHEAD));
  expect(statements[0]?.meta?.rows_written).toBe(0);
  return { items, rows, next: nextPage(response) };
}

/** All pages of a search, by its links. */
async function follow(q: string, others = ""): Promise<Page[]> {
  const pages: Page[] = [];
  for (let path: string | undefined = `/v1/pets?q=${encodeURIComponent(q)}${others}`; path !== undefined;) {
    const next = await page(path);
    pages.push(next);
    path = next.next;
  }
  return pages;
}

const find = async (q: string, others?: string) => (await follow(q, others)).flatMap(({ items }) => items);
const namesOf = (items: { name: string }[]) => items.map(({ name }) => name);

const NAMES = [
  "Golden Retriever",
  "Marigold",
  "GOLD-fish (red)",
  "Émile's Goldie",
  "Straße",
  "İstanbul ıhlamur",
  "ﬁnn",
  "ΟΔΟΣ Οδός",
  "한글 각시",
  "שָׁלוֹם כלב",
  "قِطّة",
  "Ἀχιλλεύς",
  "🐕 dog🐕cat",
  "100% cat_1",
  "a\u0000gold",
  "ｆｕｌｌｗｉｄｔｈ",
  "e\u0301clair",
  "½ ⑤ Ⅷ",
  "𝔘nicorn",
  'O\'Hara "x" \\y',
  "Ёлка ёж",
  "कुत्ता काला",
  "แมวน้อย กินปลา",
  "カﾞーデン ガﾗ",
  "猫㍿ 犬",
];

test.each<[string, ...number[]]>([
  ["gold", 0, 2, 3, 14],
  ["GOLD", 0, 2, 3, 14],
  ["gold ret", 0],
  ["ret gold", 0],
  ["retriever golden", 0],
  ["retrievers"],
  ["old"],
  ["fish red", 2],
  ["gold gold", 0, 2, 3, 14],
  ["emile", 3],
  ["EMILE", 3],
  ["é", 3, 16],
  ["e\u0301", 3, 16],
  ["s g", 3],
  ["straße", 4],
  ["STRAẞE", 4],
  ["strasse"],
  ["istanbul", 5],
  ["İSTANBUL", 5],
  ["ıhl", 5],
  ["ihl"],
  ["fi", 2, 6],
  ["ﬁ", 2, 6],
  ["οδος", 7],
  ["ΟΔΟΣ ΟΔΟΣ", 7],
  ["οδόσ", 7],
  ["하", 8],
  ["가", 8],
  ["각", 8],
  ["ᄒ", 8],
  ["שלום", 9],
  ["כ", 9],
  ["قطة", 10],
  ["αχιλλευσ", 11],
  ["dog", 12],
  ["🐕cat", 12, 13],
  ["cat 1", 13],
  ["100%", 13],
  ["fullwidth", 15],
  ["ECLAIR", 16],
  ["1 2", 17],
  ["5 viii", 17],
  ["unicorn", 18],
  ["𝔲", 18],
  ["hara x y", 19],
  ["\0gold\0", 0, 2, 3, 14],
  ["a*", 14],
  ["NOT gold"],
  ["gold OR red"],
  ["-gold", 0, 2, 3, 14],
  ["name:gold"],
  ["елка еж", 20],
  ["कत", 21],
  ["काल", 21],
  ["แมวนอย กน", 22],
  ["カーテン", 23],
  ["ガラ", 23],
  ["猫株式会社", 24],
  ["犬", 24],
  ["株"],
])("q=%s", async (q, ...expected) => {
  await store(NAMES);
  expect(namesOf(await find(q))).toEqual(expected.map((index) => NAMES[index]));
});

describe("a search is text", () => {
  const REFUSED = "q has to be 1 to 64 characters with 1 to 5 words of letters and digits.";

  test.each([
    ["nothing", ""],
    ["white space", " \t\n"],
    ["no letter", "%_*'\"\\-();\0"],
    ["combining marks only", "\u0301\u0308\u20DD"],
    ["emoji only", "🐕🐈‍⬛"],
    ["65 characters", "a".repeat(65)],
    ["65 astral characters", "𝔘".repeat(65)],
    ["six words", "a b c d e f"],
    ["six times the same word", "a a a a a a"],
    ["two ligatures of four words", "ﷺﷺ ﷺ"],
  ])("%s is refused", async (_, q) => {
    expect(await expectError(await call(`/v1/pets?q=${encodeURIComponent(q)}`, { key }), "invalid_request")).toBe(
      REFUSED,
    );
  });

  test.each([
    ["quotes and a statement", `'"; DROP TABLE pets; --`],
    ["wildcards", "%d_g* ?"],
    ["operators", '"a"* OR NOT b^2'],
    ["64 characters", "a".repeat(64)],
    ["64 astral characters", "𝔘".repeat(64)],
    ["a word and 63 combining marks", `a${"\u0301\u0323".repeat(31)}\u0301`],
    ["a word and 63 emoji", `${"🐕".repeat(63)}a`],
    ["directions", "\u202Eabc\u202C \u2067שלום\u2069"],
    ["ligatures that become 18 times as long", "ﷲ".repeat(60)],
    ["jamo", "\u1100\u1161\u11A8"],
    ["a byte order mark and joiners", "\uFEFFa\u200Db\u200C"],
    ["a prototype", "__proto__ constructor"],
  ])("%s finds nothing, and the link has it unchanged", async (_, q) => {
    const names = Array.from({ length: MAX_CANDIDATES }, (__, index) => `Ö ${index}`);
    await store(names);
    const pages = await follow(q);
    expect(pages.map(({ items }) => items)).toEqual([[], []]);
    expect(new URL(pages[0]?.next ?? "", "https://pets.example").searchParams.get("q")).toBe(q);
  });
});

describe("a window", () => {
  const TOTAL = 2 * WINDOW + 2;
  /** The first and the last of all animals and of each window, and one between. */
  const RARE = [1, 2, 4_000, WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + 2, 9_000, 2 * WINDOW, 2 * WINDOW + 1, TOTAL];

  beforeAll(async () => {
    await env.DB.batch([
      env.DB.prepare("DELETE FROM pets"),
      env.DB.prepare(
        `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${TOTAL})
         INSERT INTO pets (id, name, category_id, status)
         SELECT i, CASE WHEN i IN (${RARE.join()}) THEN 'Zoë ' || i ELSE 'Animal ' || i END, 7, 'available' FROM n`,
      ),
    ]);
  });

  describe.each(["", "&status=available", "&categoryId=7", "&categoryId=7&status=available"])("with %j", (filter) => {
    // Promise: searches-read-few-rows
    test.each(["", "&sort=-id"])("and %j, a search finds every animal once, in any size of page", async (sort) => {
      const expected = sort === "" ? RARE : RARE.toReversed();
      for (const limit of [1, 4, 100]) {
        const pages = await follow("zoe", `${filter}${sort}&limit=${limit}`);
        expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(expected);
        // A page ends with its last animal, or with a window.
        expect(pages.length).toBeLessThanOrEqual(Math.ceil(RARE.length / limit) + 3);
      }
    });

    // Promise: searches-read-few-rows
    test("a search that finds nothing reads each window", async () => {
      const pages = await follow("unicorn", filter);
      expect(pages.map(({ items }) => items.length)).toEqual([0, 0, 0]);
    });
  });

  test("other filters still hold", async () => {
    expect(await find("zoe", "&status=sold")).toEqual([]);
    expect(await find("zoe", "&categoryId=8")).toEqual([]);
    const ids = [1, 3, 5, 6, 4_000, 9_000, 12_345].map((id) => `&id=${id}`).join("");
    const versioned = await find("zoe", `${ids}&include=version&sort=-id&limit=1`);
    expect(versioned.map(({ id, version }) => [id, version])).toEqual([
      [9_000, 1],
      [4_000, 1],
      [1, 1],
    ]);
    expect(await find("zoe", `${ids}&status=sold`)).toEqual([]);
  });

  // Promise: searches-read-few-rows
  test("a common word reads only until there are enough candidates", async () => {
    const { items, rows } = await page("/v1/pets?q=animal&limit=100");
    expect(items).toHaveLength(100);
    expect(rows).toBeLessThanOrEqual(MAX_CANDIDATES + RARE.length + 1);
  });

  test("the statement searches an index and sorts nothing", async () => {
    for (const filter of ["", "&status=sold", "&categoryId=7", "&categoryId=7&status=sold"]) {
      for (const sort of ["id", "-id"]) {
        const { DB, statements } = observedDatabase();
        await call(`/v1/pets?q=zoe${filter}&sort=${sort}`, { key, bindings: { DB } });
        const { sql = "", values = [] } = statements[0] ?? {};
        const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .bind(...values)
          .all<{ detail: string }>();
        const details = plan.results.map(({ detail }) => detail).join("; ");
        expect(details).toMatch(/SEARCH pets USING .*rowid[<>]\?/);
        expect(details).not.toMatch(/SCAN pets USING|TEMP B-TREE|MATERIALIZE/);
      }
    }
  });
});

test.each([
  ["letters beyond ASCII", "Ö"],
  ["the word inside another", "xzebra"],
])("no animal is lost among more candidates than a request gets: %s", async (_, other) => {
  const hits = [0, MAX_CANDIDATES - 2, MAX_CANDIDATES - 1, MAX_CANDIDATES, MAX_CANDIDATES + 1, 449];
  await store(Array.from({ length: 450 }, (__, index) => (hits.includes(index) ? "Zebra" : other)));
  for (const limit of [1, 2, 100]) {
    for (const sort of ["id", "-id"]) {
      const found = (await find("zebra", `&limit=${limit}&sort=${sort}`)).map(({ id }) => id - 1);
      expect(found).toEqual(sort === "id" ? hits : hits.toReversed());
    }
  }
  expect((await follow("zebra", "&limit=100")).map(({ items }) => items.length)).toEqual([3, 2, 1]);
});
