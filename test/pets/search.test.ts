import { createScheduledController } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import worker from "../../src/index.ts";
import { MAX_BATCH } from "../../src/pets/batch.ts";
import { foldedName, needlesOf } from "../../src/pets/fold.ts";
import { foldNames, MAX_FOLDS } from "../../src/pets/fold-names.ts";
import { indexNames } from "../../src/pets/index-names.ts";
import { MAX_CHANGES, MAX_UNKNOWN, WINDOW } from "../../src/pets/search.ts";
import { eventsOf } from "../events/feed.ts";
import { isFound } from "../model/search.ts";
import { SCRIPTS } from "../../register/scripts.ts";
import { call, create, expectError, expectJson, idOf, nextPage } from "../support/client.ts";
import { key } from "../support/keys.ts";
import { manyRows } from "../support/many-rows.ts";
import { allowing, observedDatabase, observedJobDatabase } from "../support/observed-d1.ts";

/** A window of a category merges three statuses, and each of its two readings reads a row ahead. The state of the index is a row too. */
const MORE = 20;
/** Rows that a page reads at most: it counts the animals, reads their names and looks for the last one. */
const MOST = 3 * WINDOW + MORE;

/** Replaces all animals by some with these names, and with ids from 1, as an earlier version writes them. */
async function store(names: readonly string[]): Promise<void> {
  const insert = env.DB.prepare("INSERT INTO pets (id, name, category_id, status) VALUES (?, ?, 1, 'available')");
  const rows = names.map((name, index) => insert.bind(index + 1, name));
  await env.DB.batch([env.DB.prepare("DELETE FROM pets"), UNREADY(), ...rows]);
}

/** The same with so many, by a name, a category and a status in SQL, which may have the id `i`. */
async function storeMany(count: number, animal: string, ...values: unknown[]): Promise<void> {
  const insert = `INSERT INTO pets (id, name, category_id, status) SELECT i, ${animal} FROM n`;
  await env.DB.batch([env.DB.prepare("DELETE FROM pets"), UNREADY(), manyRows(count, insert, ...values)]);
}

/** SQL by hand leaves no events: docs/runbook/lost-data.md. */
const UNREADY = () => env.DB.prepare("UPDATE search_index SET rules = ''");

async function index(): Promise<void> {
  expect((await indexNames(env.DB, 990)).finished).toBe(true);
}

async function createAll(names: readonly string[]): Promise<void> {
  for (let first = 0; first < names.length; first += MAX_BATCH) {
    const body = names.slice(first, first + MAX_BATCH).map((name) => ({ name, categoryId: 1 }));
    expect((await call("/v1/pets/batch", { method: "POST", key, body })).status).toBe(201);
  }
}

/** How a table gets its rows. */
const WRITERS: [string, (names: readonly string[]) => Promise<void>][] = [
  ["an earlier version", store],
  [
    "an earlier version, and the hourly job",
    async (names) => {
      await store(names);
      await foldNames(env.DB);
      expect(await unfilled()).toEqual([]);
    },
  ],
  [
    "this version",
    async (names) => {
      await store([]);
      await createAll(names);
      expect(await unfilled()).toEqual([]);
    },
  ],
  [
    "an earlier version, and the index",
    async (names) => {
      await store(names);
      await index();
    },
  ],
  [
    "this version, before the index",
    async (names) => {
      await store([]);
      await index();
      await createAll(names);
      await index();
    },
  ],
  [
    "this version, after the index",
    async (names) => {
      await store([]);
      await index();
      await createAll(names);
    },
  ],
];

/** The names of the rows without a fold. */
async function unfilled(): Promise<string[]> {
  const index = env.DB.prepare("SELECT sql FROM sqlite_schema WHERE name = 'pets_unfolded_idx'");
  const [, condition] = ((await index.first<string>("sql")) ?? "").split(" WHERE ");
  const select = `SELECT name FROM pets INDEXED BY pets_unfolded_idx WHERE ${condition} ORDER BY id`;
  const { results } = await env.DB.prepare(select).all<{ name: string }>();
  return results.map(({ name }) => name);
}

interface Page {
  items: { id: number; name: string; version?: number }[];
  next: string | undefined;
  rows: number;
}

async function page(path: string, most = MOST): Promise<Page> {
  const { DB, statements } = observedDatabase();
  const response = await call(path, { key, bindings: { DB } });
  const items = (await expectJson(response, 200)) as Page["items"];
  expect(statements).toHaveLength(1);
  const rows = statements[0]?.meta?.rows_read ?? Number.NaN;
  expect(rows).toBeLessThanOrEqual(most);
  expect(statements[0]?.meta?.rows_written).toBe(0);
  expect(response.headers.get("x-d1-bookmark")).toMatch(/./);
  return { items, rows, next: nextPage(response) };
}

/** All pages of a search, by its links. */
async function follow(q: string, others = "", most = MOST): Promise<Page[]> {
  const pages: Page[] = [];
  for (let path: string | undefined = `/v1/pets?q=${encodeURIComponent(q)}${others}`; path !== undefined;) {
    const next = await page(path, most);
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
  "Łukasz Øst Þór Æon",
  "黒猫cat",
  "مُنىٰ کتاب",
  "カﾟb ーc",
  "a\u00ADb\u034Fc",
  "မြန်မာ ខ្មែរ",
];

describe.each(WRITERS)("animals of %s", (_, write) => {
  beforeAll(() => write(NAMES));

  test.each<[string[], ...number[]]>([
    [["gold", "GOLD"], 0, 2, 3, 14],
    [["gold ret", "ret gold", "retriever golden"], 0],
    [["retrievers", "old"]],
    [["fish red"], 2],
    [["gold gold"], 0, 2, 3, 14],
    [["emile", "EMILE"], 3],
    [["é", "e\u0301"], 3, 16],
    [["s g"], 3],
    [["straße", "STRAẞE", "strasse"], 4],
    [["istanbul", "İSTANBUL", "ıhl", "ihl"], 5],
    [["fi", "ﬁ"], 2, 6],
    [["οδος", "ΟΔΟΣ ΟΔΟΣ", "οδόσ"], 7],
    [["하", "가", "각", "ᄒ"], 8],
    [["글"]],
    [["שלום", "כ"], 9],
    [["قطة", "قطه"], 10],
    [["αχιλλευσ"], 11],
    [["dog"], 12],
    [["🐕cat"], 12, 13, 26],
    [["cat 1", "100%"], 13],
    [["fullwidth"], 15],
    [["ECLAIR"], 16],
    [["1 2", "5 viii"], 17],
    [["unicorn", "𝔲"], 18],
    [["hara x y"], 19],
    [["\0gold\0"], 0, 2, 3, 14],
    [["a*"], 14, 25, 29],
    [["NOT gold", "gold OR red"]],
    [["-gold"], 0, 2, 3, 14],
    [["name:gold"]],
    [["елка еж"], 20],
    [["कत"]],
    [["कुत", "काल"], 21],
    [["แมวนอย กิน", "ปลา"], 22],
    [["กน", "カーテン"]],
    [["がーでん", "ガラ", "でん"], 23],
    [["猫株式会社", "会社", "犬"], 24],
    [["猫犬"]],
    [["株"], 24],
    [["猫"], 24, 26],
    [["at"]],
    [["lukasz OST thor aeon"], 25],
    [["منی كتاب"], 27],
    [["か゚", "b"], 28],
    [["c"], 12, 13, 26, 28],
    [["abc"], 29],
    [["မာ", "ែរ"], 30],
    [["a b c d e f g h i j"]],
    [["g g g g g g g g g go gol gold golden r re ret"], 0],
  ])("q=%j", async (queries, ...expected) => {
    for (const q of queries) {
      expect(namesOf(await find(q)), q).toEqual(expected.map((index) => NAMES[index]));
      // The model knows no writers.
      for (const [index, name] of write === store ? NAMES.entries() : [])
        expect(isFound(name, q), `${q}: ${name}`).toBe(expected.includes(index));
    }
  });
});

// Promise: searches-find-every-script
test("a search finds what a plain loop finds, whoever wrote the rows", async () => {
  const characters = fc.constantFrom(
    ...Object.values(SCRIPTS).flat().join(""),
    ..."ab1 -_\0\u200D\u0301\u3099\u309A🐕ǅﬁ½ⅧıIİßẞæŒøĐðŁþħςΣىیکةٱـワヷヽー々မြန်မာខ្មែរລາວ",
  );
  const text = fc.array(characters, { minLength: 1, maxLength: 10 }).map((list) => list.join(""));
  const others = fc.array(text, { minLength: 1, maxLength: 12 });
  for (const [script, [name, ...texts]] of Object.entries(SCRIPTS)) {
    await fc.assert(
      fc.asyncProperty(others, fc.constantFrom(...WRITERS), async (others, [, write]) => {
        const names = [...new Set([name, ...others.filter((one) => one.trim() !== "" && /[^\s\u0085]/.test(one))])];
        await write(names);
        const parts = names.flatMap((one) => [[...one].slice(0, 2).join(""), [...one].slice(-2).join("")]);
        for (const q of [...texts, ...parts])
          expect(namesOf(await find(q)), `${script}: ${q}`).toEqual(names.filter((one) => isFound(one, q)));
        for (const q of texts) expect(isFound(name, q), q).toBe(true);
      }),
      { numRuns: 2 },
    );
  }
});

describe("a fold", () => {
  // Each entry of its table, a character of each property alone, and the ends of each range.
  test.each([
    ["ß", "ss"],
    ["æ", "ae"],
    ["œ", "oe"],
    ["ø", "o"],
    ["đ", "d"],
    ["ð", "d"],
    ["ł", "l"],
    ["þ", "th"],
    ["ħ", "h"],
    ["ı", "i"],
    ["ς", "σ"],
    ["\u0649", "\u064A"],
    ["\u06CC", "\u064A"],
    ["\u06A9", "\u0643"],
    ["\u0629", "\u0647"],
    ["\u0671", "\u0627"],
    ["\u0640", ""],
    ["\u00AD", ""],
    ["\u0483", ""],
    ["\u0358", ""],
    ["\u0610", ""],
    ["\u0E34", "\u0E34"],
    ["\u093F", "\u093F"],
    ["Ａ", "a"],
    ["ア", "あ"],
    ["ァ", "ぁ"],
    ["ヶ", "ゖ"],
    ["ヽ", "ゝ"],
    ["ヾ", "ゞ"],
    ["か\u3099", "が"],
    ["は\u309A", "ぱ"],
  ])("makes %j to %j in a name and in a search", (letter, folded) => {
    // Another script before it would begin a word of its own.
    const before = /\p{scx=Kana}/u.test(letter) ? "か" : "x";
    expect([foldedName(before + letter), needlesOf(before + letter)[0]?.trimStart()]).toEqual([
      ` ${before}${folded}`,
      before + folded,
    ]);
  });

  test.each(["猫", "ね", "ー", "แ", "ລ", "ខ", "မ"])("lets %s be found inside a word", (letter) => {
    expect(needlesOf(letter)).toEqual([letter]);
  });

  test.each(["x", "я", "ع", "क", "각", "1"])("lets %s be found at the start of a word only", (letter) => {
    expect(needlesOf(letter.normalize("NFKD"))).toEqual([` ${letter.normalize("NFKD")}`]);
  });
});

describe("a search is text", () => {
  const REFUSED = "q has to be at most 255 well-formed characters.";

  test.each([
    ["256 characters", "a".repeat(256)],
    ["256 astral characters", "𝔘".repeat(256)],
  ])("%s are refused", async (_, q) => {
    expect(await expectError(await call(`/v1/pets?q=${encodeURIComponent(q)}`, { key }), "invalid_request")).toBe(
      REFUSED,
    );
  });

  test.each([
    ["nothing", ""],
    ["white space", " \t\n"],
    ["no letter", "%_*'\"\\-();\0"],
    ["combining marks only", "\u0301\u0308\u20DD"],
    ["emoji only", "🐕🐈‍⬛"],
  ])("%s finds nothing, and reads no row", async (_, q) => {
    await store(["Gold", "Ö"]);
    for (const filter of ["", "&status=available", "&categoryId=1", "&id=1", "&sort=-id"]) {
      const { items, rows, next } = await page(`/v1/pets?q=${encodeURIComponent(q)}${filter}`);
      expect([items, rows, next]).toEqual([[], 0, undefined]);
    }
  });

  test.each([
    ["quotes and a statement", `'"; DROP TABLE pets; --`],
    ["wildcards", "%d_g* ?"],
    ["operators", '"a"* OR NOT b^2'],
    ["255 characters", "a".repeat(255)],
    ["255 astral characters", "𝔘".repeat(255)],
    ["a word and 254 combining marks", `a${"\u0301\u0323".repeat(127)}`],
    ["a word and 254 emoji", `${"🐕".repeat(254)}a`],
    ["directions", "\u202Eabc\u202C \u2067שלום\u2069"],
    ["ligatures that become 18 times as long", "ﷲ".repeat(255)],
    ["128 words", Array.from({ length: 128 }, (_, index) => String.fromCodePoint(0x3b1 + (index % 17))).join(" ")],
    ["jamo", "\u1100\u1161\u11A8"],
    ["a byte order mark and joiners", "\uFEFFa\u200Db\u200C"],
    ["a prototype", "__proto__ constructor"],
  ])("%s finds nothing, and the link has it unchanged", async (_, q) => {
    await store(Array.from({ length: MAX_UNKNOWN + 21 }, (__, index) => `Ö ${index}`));
    const path = `/v1/pets?q=${encodeURIComponent(q)}`;
    // The address of a request has a bound.
    if (path.length > 4_000) {
      expect((await call(path, { key })).status).toBe(200);
      return;
    }
    const pages = await follow(q);
    expect(pages.map(({ items }) => items)).toEqual([[], []]);
    expect(new URL(pages[0]?.next ?? "", "https://pets.example").searchParams.get("q")).toBe(q);
  });

  test("a word is compared as a whole, and the words after the eighth are too", async () => {
    const [long, many] = ["𝔞".repeat(40), "b bb bbb bbbb bbbbb bbbbbb bbbbbbb bbbbbbbb c"];
    for (const [, write] of WRITERS) {
      await write([`${"a".repeat(39)}Ö`, "a".repeat(41), "Bbbbbbbbb", "Bbbbbbbbbb", "bbbbbbbb Ç", "x𠀀".repeat(20)]);
      expect(namesOf(await find(long))).toEqual(["a".repeat(41)]);
      expect(namesOf(await find(many, "&limit=1"))).toEqual(["bbbbbbbb Ç"]);
      // Its letters are two UTF-16 units each.
      await write(["𠀀".repeat(20), "𠀀".repeat(18)]);
      expect(namesOf(await find("𠀀".repeat(19)))).toEqual(["𠀀".repeat(20)]);
    }
  });

  test("long names end no page early", async () => {
    await store([
      ...Array.from({ length: MAX_UNKNOWN }, (_, index) => `${"x".repeat(140)} ${index}`),
      "Zoe 1",
      "Zoe 2",
    ]);
    const pages = await follow("zoe", "&limit=1");
    expect(pages.map(({ items }) => namesOf(items))).toEqual([["Zoe 1"], ["Zoe 2"]]);
    expect((await follow("zoe")).map(({ items }) => namesOf(items))).toEqual([["Zoe 1", "Zoe 2"]]);
  });

  test("of a name the first 1,024 folded characters count", async () => {
    const name = "ﷺ".repeat(60);
    for (const [, write] of WRITERS) {
      await write([`${name} last`, `${name.slice(5)} last`]);
      expect(namesOf(await find("last"))).toEqual([`${name.slice(5)} last`]);
    }
  });
});

describe("a window", () => {
  const TOTAL = 2 * WINDOW + 2;
  /** The first and the last of all animals and of each window, and one between. */
  const RARE = [1, 2, 4_000, WINDOW - 1, WINDOW, WINDOW + 1, WINDOW + 2, 15_000, 2 * WINDOW, 2 * WINDOW + 1, TOTAL];

  beforeAll(async () => {
    await storeMany(TOTAL, `iif(i IN (${RARE.join()}), 'Zoë ', 'Animal ') || i, 7, 'available'`);
    await foldNames(env.DB);
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
    const ids = [1, 3, 5, 6, 4_000, 15_000, 12_345].map((id) => `&id=${id}`).join("");
    const versioned = await find("zoe", `${ids}&include=version&sort=-id&limit=1`);
    expect(versioned.map(({ id, version }) => [id, version])).toEqual([
      [15_000, 1],
      [4_000, 1],
      [1, 1],
    ]);
    expect(await find("zoe", `${ids}&status=sold`)).toEqual([]);
  });

  // Promise: searches-read-few-rows
  test("a common word reads only until the page is full", async () => {
    const { items, rows } = await page("/v1/pets?q=animal&limit=100");
    expect(items).toHaveLength(100);
    expect(rows).toBeLessThanOrEqual(2 * (101 + MAX_UNKNOWN) + MORE);
  });

  test("the statement searches an index and sorts nothing", async () => {
    for (const [filter, index] of [
      ["", "INTEGER PRIMARY KEY ("],
      ["&status=sold", "COVERING INDEX pets_status_idx (status=? AND "],
      ["&categoryId=7", "COVERING INDEX pets_category_id_status_idx (category_id=? AND status=? AND "],
      ["&categoryId=7&status=sold", "COVERING INDEX pets_category_id_status_idx (category_id=? AND status=? AND "],
    ]) {
      for (const sort of ["id", "-id"]) {
        const { DB, statements } = observedDatabase();
        await call(`/v1/pets?q=zoe${filter}&sort=${sort}`, { key, bindings: { DB } });
        const { sql = "", values = [] } = statements[0] ?? {};
        const plan = await env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`)
          .bind(...values)
          .all<{ detail: string }>();
        const details = plan.results.map(({ detail }) => detail).join("; ");
        const searches = details.match(/SEARCH pets USING (?!INDEX pets_unfolded_idx|\S+ PRIMARY KEY \(rowid=)[^;]*/g);
        expect(new Set(searches)).toEqual(new Set([`SEARCH pets USING ${index}rowid${sort === "id" ? ">" : "<"}?)`]));
        expect(details).toContain("SEARCH unfilled USING INDEX pets_unfolded_idx (id=? AND rowid=?)");
        // What events name has no order. It is read for the rows and for the last of them.
        expect(details.match(/TEMP B-TREE FOR [A-Z ]+/g)).toEqual([
          "TEMP B-TREE FOR ORDER BY",
          "TEMP B-TREE FOR ORDER BY",
        ]);
        expect(details).not.toMatch(/SCAN pets USING|MATERIALIZE (?!present|asked|changed|unknown)/);
        expect(details).toContain(`SCAN pets_words VIRTUAL TABLE INDEX ${sort === "id" ? "64:M1>" : "192:M1<"}`);
      }
    }
  });
});

// Promise: searches-read-few-rows
test.each(["", "&status=available", "&categoryId=1"])(
  "no animal is lost among many without a fold: %j",
  async (filter) => {
    const total = 2 * MAX_UNKNOWN + 50;
    const hits = [0, 4, 7, 58, MAX_UNKNOWN - 2, MAX_UNKNOWN - 1, MAX_UNKNOWN, MAX_UNKNOWN + 1, total - 1];
    const names = Array.from({ length: total }, (_, index) => (hits.includes(index) ? "Zebra ж" : "Ö"));
    await store(names.map((name, index) => (index % 5 === 2 && hits.includes(index) ? "Zebra" : name)));
    // Some are in no list of the filter, and some have the fold of an earlier name.
    await env.DB.batch([
      env.DB.prepare("UPDATE pets SET status = 'sold', category_id = 2 WHERE id % 3 = 0 AND name = 'Ö'"),
      env.DB.prepare("UPDATE pets SET folded = ' zebra', folded_of = '1Zebra!' WHERE name = 'Ö' AND id % 2 = 0"),
      env.DB.prepare("UPDATE pets SET folded = ' ж', folded_of = '1ж' WHERE id IN (1, ?)").bind(total),
      env.DB.prepare("UPDATE pets SET folded = ' zebra ж', folded_of = '1Zebra' WHERE id = 8"),
    ]);
    for (const limit of [1, 2, 3, 100]) {
      for (const sort of ["id", "-id"]) {
        const pages = await follow("zebra", `&limit=${limit}&sort=${sort}${filter}`);
        const found = pages.flatMap(({ items }) => items.map(({ id }) => id - 1));
        expect(found).toEqual(sort === "id" ? hits : hits.toReversed());
        expect(Math.max(...pages.map(({ items }) => items.length))).toBeLessThanOrEqual(limit);
      }
    }
  },
);

test("a filter leaves out animals without a fold, and they take no place of a page", async () => {
  await store(Array.from({ length: 2 * MAX_UNKNOWN + 3 }, (_, index) => `Ö ${index}`));
  await env.DB.prepare("UPDATE pets SET status = 'sold' WHERE id <= ?")
    .bind(2 * MAX_UNKNOWN)
    .run();
  const pages = await follow("o", "&status=available");
  expect(pages.map(({ items }) => items.map(({ id }) => id))).toEqual([[1, 2, 3].map((id) => 2 * MAX_UNKNOWN + id)]);
  expect((await find("o", "&status=pending")).length).toBe(0);
});

describe("the index of words", () => {
  const documents = () => env.DB.prepare("SELECT count(*) AS n FROM pets_words_docsize").first("n");
  const state = () => env.DB.prepare("SELECT ready, place FROM search_index").first<{ ready: number; place: number }>();
  const newest = () => env.DB.prepare("SELECT max(id) AS id FROM events").first<number>("id");
  const change = async (method: string, path: string, body: object = {}) =>
    expect([200, 201, 204]).toContain((await call(path, { method, key, body })).status);
  /** An event of each of these animals. */
  const addEvents = (count: number) =>
    manyRows(
      count,
      `INSERT INTO events (tag, type, version, data, created_at)
       SELECT i, 'pet.updated', 2, json_object('id', i), strftime('%Y-%m-%dT%H:%M:%fZ', 'now') FROM n`,
    ).run();

  describe("of many animals", () => {
    const TOTAL = 4 * WINDOW + 1_002;
    const RARE = [1, 2, 4_000, WINDOW, WINDOW + 1, 2 * WINDOW, 4 * WINDOW, TOTAL - 1, TOTAL];

    beforeAll(async () => {
      const name = `iif(i = ${TOTAL}, 'White Black', iif(i % 2, 'White', 'Black')) || iif(i IN (${RARE.join()}), ' Zoë', '') || ' ' || i`;
      await storeMany(TOTAL, `${name}, 7, 'available'`);
      await index();
    });

    // Promise: searches-read-few-rows
    test.each(["", "&status=available", "&categoryId=7", "&categoryId=7&status=available"])(
      "one request finds all that fit on its page, with %j",
      async (filter) => {
        for (const [sort, expected] of [
          ["", RARE],
          ["&sort=-id", RARE.toReversed()],
        ] as const) {
          const [all, ...others] = await follow("zoe", `${filter}${sort}&limit=100`);
          expect([all?.items.map(({ id }) => id), others]).toEqual([expected, []]);
          expect(all?.rows).toBeLessThanOrEqual(100);
          const pages = await follow("zoe", `${filter}${sort}&limit=4`);
          expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual(expected);
          expect(pages.map(({ items }) => items.length)).toEqual([4, 4, 1]);
        }
      },
    );

    // Promise: searches-read-few-rows
    test.each(["unicorn", "zoe unicorn", "white unicorn", "zo zz"])(
      "one request tells that nothing has %j",
      async (q) => {
        const [{ items, rows } = expect.unreachable(), ...others] = await follow(q);
        expect([items, others]).toEqual([[], []]);
        // The terms are asked one after the other, until one of them is rare.
        expect(rows).toBeLessThanOrEqual(q === "white unicorn" ? WINDOW + 100 : 100);
      },
    );

    test("a common word reads only until the page is full, at every depth and in both orders", async () => {
      for (const sort of ["id", "-id"]) {
        let path = `/v1/pets?q=whi&limit=100&sort=${sort}`;
        for (let pages = 0; pages < 3; pages++) {
          const { items, rows, next } = await page(path);
          expect(items).toHaveLength(100);
          expect(rows).toBeLessThanOrEqual(500);
          path = next ?? expect.unreachable();
        }
      }
    });

    // Promise: searches-read-few-rows
    test("of words that are all common, a page examines as many animals as of a window", async () => {
      const pages = await follow("white black", "", 5 * WINDOW + MORE);
      expect(pages.flatMap(({ items }) => items.map(({ id }) => id))).toEqual([TOTAL]);
      expect(pages.length).toBeLessThanOrEqual(Math.ceil(TOTAL / 2 / WINDOW) + 1);
      const last = await page("/v1/pets?q=white%20black&sort=-id", 5 * WINDOW + MORE);
      expect(namesOf(last.items)).toEqual([`White Black Zoë ${TOTAL}`]);
    });

    test("a filter may leave out as many animals as a window has", async () => {
      const pages = await follow("white", "&status=sold");
      expect(pages.map(({ items }) => items)).toEqual(Array.from({ length: 3 }, () => []));
    });
  });

  test("knows each change at once, and follows it once", async () => {
    await store(["Alpha One", "Beta Two", "Gamma Three"]);
    await index();
    await change("PATCH", "/v1/pets/1", { name: "Delta One" });
    await change("DELETE", "/v1/pets/2");
    await change("POST", "/v1/pets/batch", [
      { name: "Alpha Four", categoryId: 1 },
      { name: "猫 Five", categoryId: 1 },
    ]);
    await change("PATCH", "/v1/pets/3", { status: "pending" });
    for (const isIndexed of [false, true]) {
      if (isIndexed) expect(await indexNames(env.DB, 990)).toEqual({ count: 5, finished: true });
      const expected = {
        alpha: ["Alpha Four"],
        delta: ["Delta One"],
        beta: [],
        gamma: ["Gamma Three"],
        猫: ["猫 Five"],
      };
      for (const [q, found] of Object.entries(expected)) {
        for (const limit of [1, 100]) {
          const [only, ...others] = await follow(q, `&limit=${limit}`);
          expect([namesOf(only?.items ?? []), others], q).toEqual([found, []]);
        }
      }
    }
    expect(await documents()).toBe(4);
    expect(await indexNames(env.DB, 990)).toEqual({ count: 0, finished: true });
  });

  // Promise: searches-read-few-rows
  test("animals that lost a word hide none that has it", async () => {
    await store(Array.from({ length: 300 }, (_, i) => (i < 299 ? "Gold" : "Gold last")));
    await index();
    for (let first = 0; first < 200; first += MAX_BATCH)
      await change(
        "PATCH",
        "/v1/pets/batch",
        Array.from({ length: MAX_BATCH }, (_, i) => ({ id: first + i + 1, name: "Iron" })),
      );
    const { items, next } = await page("/v1/pets?q=gold&limit=99");
    expect(items.map(({ id }) => id)).toEqual(Array.from({ length: 99 }, (_, i) => i + 201));
    expect(namesOf((await page(next ?? expect.unreachable())).items)).toEqual(["Gold last"]);
  });

  test.each<[string, () => Promise<unknown>]>([
    ["an event is gone", () => env.DB.prepare("DELETE FROM events WHERE id < (SELECT max(id) FROM events)").run()],
    ["more events wait than a search reads", () => addEvents(MAX_CHANGES)],
    ["its rules are those of another version", () => env.DB.prepare("UPDATE search_index SET rules = '1'").run()],
    ["it is filled anew", () => env.DB.batch([UNREADY()]).then(() => indexNames(env.DB, 6))],
  ])("is not asked while %s", async (_, spoil) => {
    await store(["Gold one", "Gold two", "Жук"]);
    await index();
    await change("PATCH", "/v1/pets/1", { name: "Iron one" });
    await change("PATCH", "/v1/pets/3", { status: "pending" });
    await spoil();
    // Only the index lacks it.
    await env.DB.prepare("INSERT INTO pets (id, name, category_id, status) VALUES (9, 'Gold nine', 1, 'sold')").run();
    expect(namesOf(await find("gold"))).toEqual(["Gold two", "Gold nine"]);
    expect(namesOf(await find("жук"))).toEqual(["Жук"]);
    await index();
    await env.DB.batch([UNREADY()]);
    await index();
    expect(namesOf(await find("gold"))).toEqual(["Gold two", "Gold nine"]);
    expect(namesOf(await find("iron"))).toEqual(["Iron one"]);
    expect(await documents()).toBe(4);
  });

  test("has a name that changes while a run writes, and each animal once after two runs at once", async () => {
    await store(["Gold", "Iron"]);
    const { DB: racing } = observedJobDatabase(
      (sql) =>
        sql.startsWith("DELETE FROM pets_words") &&
        change("PATCH", "/v1/pets/1", { name: `Lead ${crypto.randomUUID()}` }),
    );
    await indexNames(racing, 18);
    expect(namesOf(await find("gold"))).toEqual([]);
    expect(await find("lead")).toHaveLength(1);
    await change("PATCH", "/v1/pets/2", { name: "Zinc" });
    await Promise.all([indexNames(env.DB, 990), indexNames(env.DB, 990), indexNames(racing, 990)]);
    await index();
    expect(await find("lead")).toHaveLength(1);
    for (const q of ["gold", "iron"]) expect(await find(q)).toEqual([]);
    expect(await documents()).toBe(2);
  });

  test.each(["SELECT CAST(pet AS TEXT)", "DELETE FROM pets_words"])(
    "stays at its place in the history after a restore right before %s",
    async (statement) => {
      await store(["Gold"]);
      await index();
      await change("PATCH", "/v1/pets/1", { name: "Iron" });
      await change("PATCH", "/v1/pets/1", { name: "Lead" });
      const events = "SELECT id FROM events ORDER BY id DESC";
      const { DB: racing } = observedJobDatabase(
        (sql) =>
          sql.startsWith(statement) &&
          env.DB.batch([
            env.DB.prepare("UPDATE pets SET name = 'Iron', version = 2"),
            env.DB.prepare(`DELETE FROM events WHERE id = (${events} LIMIT 1)`),
            env.DB.prepare(`UPDATE events SET tag = tag + 1 WHERE id = (${events} LIMIT 1)`),
          ]),
      );
      await indexNames(racing, 6);
      await change("POST", "/v1/pets", { name: "Zinc", categoryId: 1 });
      for (const q of ["iron", "zinc"]) expect(await find(q), q).toHaveLength(1);
      await index();
      for (const q of ["iron", "zinc"]) expect(await find(q), q).toHaveLength(1);
      expect(await find("lead")).toEqual([]);
    },
  );

  test("runs in bounded steps, also of names with many terms, and goes on in the next run", async () => {
    const terms = String.fromCodePoint(...Array.from({ length: 250 }, (_, i) => 0x4e00 + i * 7));
    await storeMany(1_000, "? || i, 1, 'sold'", terms);
    await expect(indexNames(allowing(0), 990)).rejects.toThrow("Too many");
    const { DB, statements } = observedJobDatabase();
    const first = await indexNames(DB, 15);
    expect(first).toEqual({ count: expect.any(Number), finished: false });
    expect(first.count).toBeGreaterThan(0);
    expect(statements.length).toBeLessThanOrEqual(15);
    const second = await indexNames(allowing(8), 990);
    expect(second.finished).toBe(false);
    const { count, finished } = await indexNames(DB, 990);
    expect([first.count + second.count + count, finished]).toEqual([1_000, true]);
    // The same of changes.
    await addEvents(500);
    expect(await indexNames(DB, 990)).toEqual({ count: 500, finished: true });
    const sizes = statements.flatMap(({ values }) => values.map((value) => new Blob([String(value)]).size));
    expect(Math.max(...sizes)).toBeLessThan(2_000_000);
    expect(await documents()).toBe(1_000);
    expect((await find("一 999")).map(({ id }) => id)).toEqual([999]);
  });

  test("is filled also when that takes longer than the feed keeps an event", async () => {
    await storeMany(5_000, "'Gold ' || i, 1, 'sold'");
    for (let runs = 0; (await state())?.ready !== 1; runs++) {
      expect(runs).toBeLessThan(10);
      await addEvents(1_000);
      await env.DB.prepare("DELETE FROM events WHERE id < (SELECT max(id) FROM events) - 2500").run();
      await indexNames(env.DB, 12);
    }
    await index();
    expect(await documents()).toBe(5_000);
    expect(namesOf(await find("gold 5000"))).toEqual(["Gold 5000"]);
  });

  test("follows by itself when enough events wait", async () => {
    await store(["Gold"]);
    await index();
    onTestFinished(() => void vi.useRealTimers());
    let now = Date.now();
    const later = (milliseconds: number) => vi.useFakeTimers({ toFake: ["Date"], now: (now += milliseconds) });
    later(60_000);
    await change("PATCH", "/v1/pets/1", { name: "Iron" });
    await scheduler.wait(300);
    expect((await state())?.place).toBeLessThan((await newest()) ?? 0);
    await change(
      "POST",
      "/v1/pets/batch",
      Array.from({ length: 99 }, () => ({ name: "New", categoryId: 1 })),
    );
    await scheduler.wait(300);
    expect((await state())?.place).toBeLessThan((await newest()) ?? 0);
    later(11_000);
    await change("PATCH", "/v1/pets/1", { name: "Lead" });
    await vi.waitFor(async () => expect((await state())?.place).toBe(await newest()), 5_000);
    // Not until the job has filled it.
    await UNREADY().run();
    later(11_000);
    await change("PATCH", "/v1/pets/1", { name: "Zinc" });
    await scheduler.wait(300);
    expect((await state())?.place).toBeLessThan((await newest()) ?? 0);
  });
});

describe("a fold", () => {
  const KEYS = [["with an Idempotency-Key"], ["without one"]] as const;
  const headersOf = (name: string): Record<string, string> =>
    name.startsWith("with ") ? { "Idempotency-Key": crypto.randomUUID() } : {};
  const stored = (id: number) =>
    env.DB.prepare("SELECT name, folded, folded_of, version FROM pets WHERE id = ?").bind(id).first();

  // Promise: searches-find-every-script
  test.each(KEYS)("is written by each statement that writes a name, %s", async (name) => {
    const send = async (method: string, path: string, body: object) => {
      const response = await call(path, { method, key, body, headers: headersOf(name) });
      expect([200, 201]).toContain(response.status);
      return (await response.json()) as { id: number }[];
    };
    await store([]);
    const path = await create("/v1/pets", { name: "Жук", categoryId: 1 });
    const id = idOf(path);
    expect(await stored(id)).toEqual({ name: "Жук", folded: " жук", folded_of: "1Жук", version: 1 });
    await send("PATCH", path, { status: "pending" });
    expect(await stored(id)).toEqual({ name: "Жук", folded: " жук", folded_of: "1Жук", version: 2 });
    await send("PATCH", path, { name: "Ёж 猫cat" });
    expect(await stored(id)).toEqual({ name: "Ёж 猫cat", folded: " еж 猫 cat", folded_of: "1Ёж 猫cat", version: 3 });
    await send("PATCH", path, { name: "Max 2" });
    expect(await stored(id)).toEqual({ name: "Max 2", folded: null, folded_of: null, version: 4 });
    const animals = await send("POST", "/v1/pets/batch", [
      { name: "Rex", categoryId: 1 },
      { name: "a\0É", categoryId: 1 },
      { name: "ß-1", categoryId: 1, status: "sold" },
    ]);
    const [rex = 0, nul = 0, eszett = 0] = animals.map(({ id }) => id);
    expect(await stored(rex)).toEqual({ name: "Rex", folded: null, folded_of: null, version: 1 });
    expect(await stored(nul)).toEqual({ name: "a\0É", folded: " a e", folded_of: "1a\0É", version: 1 });
    expect(await stored(eszett)).toEqual({ name: "ß-1", folded: " ss 1", folded_of: "1ß-1", version: 1 });
    await send("PATCH", "/v1/pets/batch", [
      { id: rex, name: "Ørsted" },
      { id: nul, status: "sold" },
      { id: eszett, name: "Plain" },
      { id },
    ]);
    expect(await stored(rex)).toEqual({ name: "Ørsted", folded: " orsted", folded_of: "1Ørsted", version: 2 });
    expect(await stored(nul)).toEqual({ name: "a\0É", folded: " a e", folded_of: "1a\0É", version: 2 });
    expect(await stored(eszett)).toEqual({ name: "Plain", folded: null, folded_of: null, version: 2 });
    expect(await unfilled()).toEqual([]);
  });

  test.each(KEYS)("is no change: a patch to the present name of a row of an earlier version, %s", async (name) => {
    await store(["Жук", "Ёж"]);
    const before = await stored(1);
    const { events } = await eventsOf(key, async () => {
      const one = await call("/v1/pets/1", { method: "PATCH", key, body: { name: "Жук" }, headers: headersOf(name) });
      expect([one.status, one.headers.get("ETag")]).toEqual([200, '"1"']);
      const body = [{ id: 2, name: "Ёж" }];
      const several = await call("/v1/pets/batch", { method: "PATCH", key, body, headers: headersOf(name) });
      expect(await several.json()).toEqual([{ id: 2, name: "Ёж", categoryId: 1, status: "available", version: 1 }]);
      return several;
    });
    expect(events).toEqual([]);
    expect(await stored(1)).toEqual(before);
  });

  test("is that of the present name after an earlier version renamed a row", async () => {
    const [, , [, write]] = WRITERS as [unknown, unknown, (typeof WRITERS)[number]];
    await write(["Жук", "Rex", "Ёж"]);
    const rename = env.DB.prepare("UPDATE pets SET name = ?, version = version + 1 WHERE name = ?");
    await env.DB.batch([rename.bind("Max", "Жук"), rename.bind("Кот", "Rex"), rename.bind("Пёс", "Ёж")]);
    const expected = { жук: [], еж: [], rex: [], max: ["Max"], кот: ["Кот"], пес: ["Пёс"] };
    for (const isFolded of [false, true]) {
      if (isFolded) expect(await foldNames(env.DB)).toEqual({ count: 3, finished: true });
      for (const [q, names] of Object.entries(expected)) expect(namesOf(await find(q)), q).toEqual(names);
    }
    expect(await unfilled()).toEqual([]);
  });
});

test("a search on a replica without the index is repeated on the primary", async () => {
  await store(["Жук"]);
  const { DB } = observedDatabase({
    when: "before",
    message: "D1_ERROR: no such index: pets_unfolded_idx: SQLITE_ERROR",
  });
  const response = await call("/v1/pets?q=жук", { key, bindings: { DB } });
  expect(namesOf(await response.json())).toEqual(["Жук"]);
});

describe("the hourly job", () => {
  const columns = async () =>
    (await env.DB.prepare("SELECT id, name, folded, folded_of, version FROM pets ORDER BY id").all()).results;

  test("folds what has no fold, in few statements, without a version and without an event", async () => {
    await store(["Жук", "Rex", "a\0b", "O'Hara", "🐕", "É  x"]);
    await env.DB.prepare("UPDATE pets SET folded = ' x', folded_of = '1x' WHERE id = 2").run();
    const { DB, statements } = observedJobDatabase();
    const { events, response } = await eventsOf(key, async () => {
      expect(await foldNames(DB)).toEqual({ count: 6, finished: true });
      return call("/v1/pets?limit=1", { key });
    });
    expect([events, response.status]).toEqual([[], 200]);
    expect(await columns()).toEqual(
      [
        ["Жук", " жук"],
        ["Rex", null],
        ["a\0b", " a b"],
        ["O'Hara", " o hara"],
        ["🐕", " "],
        ["É  x", " e x"],
      ].map(([name, folded], index) => ({
        id: index + 1,
        name,
        folded,
        folded_of: folded === null ? null : `1${name}`,
        version: 1,
      })),
    );
    expect(statements).toHaveLength(3);
    expect(await foldNames(env.DB)).toEqual({ count: 0, finished: true });
  });

  test("runs every hour, and says what it did", async () => {
    await store(["Жук", "Rex"]);
    const lines: string[] = [];
    const log = vi.spyOn(console, "log").mockImplementation((line: string) => void lines.push(line));
    onTestFinished(() => log.mockRestore());
    await worker.scheduled(createScheduledController(), env);
    expect(lines.slice(-2)).toEqual([
      '{"level":"info","event":"names folded","count":1,"finished":true}',
      '{"level":"info","event":"names indexed","count":2,"finished":true}',
    ]);
    expect(await unfilled()).toEqual([]);
  });

  test("leaves a row that is renamed after it was read, until the next run", async () => {
    await store(["Жук", "Ёж"]);
    const rename = (sql: string) =>
      sql.startsWith("update") && env.DB.prepare("UPDATE pets SET name = 'Кот' WHERE id = 1").run();
    expect(await foldNames(observedJobDatabase(rename).DB)).toEqual({ count: 1, finished: true });
    expect(namesOf(await find("кот"))).toEqual(["Кот"]);
    expect(await find("жук")).toEqual([]);
    expect(await foldNames(env.DB)).toEqual({ count: 1, finished: true });
    expect(await unfilled()).toEqual([]);
  });

  test("folds names that become as long as any, and goes on in the next run", async () => {
    // As many bytes as a parameter of D1 may have are less than these.
    await storeMany(800, "?, 1, 'sold'", "㌀".repeat(255));
    await expect(foldNames(allowing(0))).rejects.toThrow("Too many");
    const first = await foldNames(allowing(3));
    expect(first.finished).toBe(false);
    expect(first.count).toBeGreaterThan(100);
    expect(await foldNames(env.DB)).toEqual({ count: 800 - first.count, finished: true });
    expect(await unfilled()).toEqual([]);
    expect(MAX_FOLDS).toBe(200);
  });
});
