import { and, or, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Bounds, Sort } from "../db/page.ts";
import type { Stored } from "../db/resource.ts";
import type { Built, QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { type Found, limitOf, type Listed, type PageQuery, toPage } from "../http/paging.ts";
import { foldedName, RULES } from "./fold.ts";
import { type Animal, pet } from "./shape.ts";
import { isUnfilled, pets } from "./table.ts";
import { termsOfSearch } from "./terms.ts";

export const MAX_SEARCH_CHARACTERS = 255;
/** Animals that a request examines at most. It may read them twice. */
export const WINDOW = 10_000;
/** Events after the place of the index that a search reads at most. */
export const MAX_CHANGES = 2_000;
/** Bytes of a fold in which SQL looks for words. */
const MAX_BYTES = 128;
/** Longer names that a request leaves to code at most, beside those of the index, which have the words. */
export const MAX_LONG = 200;
/** Rows without a fold that it examines at most. */
export const MAX_UNFILLED = 200;
/** Characters of a word that SQL looks at, with the space before it. */
const MAX_CHARACTERS = 17;

/** The parameters of a search, for its longest words. */
const WORDS = ["word1", "word2", "word3", "word4", "word5", "word6", "word7", "word8"] as const;
/** Every name contains an empty one. */
export type Words = { [name in (typeof WORDS)[number]]: string };

/** What the index is asked: its terms, each in quotes, as a JSON array and as one expression of FTS5. */
export interface Terms {
  terms: string;
  match: string;
}

export function parametersOf(needles: readonly string[]): Words & Terms {
  const longest = needles.toSorted((a, b) => b.length - a.length);
  // By code points: D1 does not return half of a pair as it was (docs/standards.md).
  const cut = (needle = "") => [...needle].slice(0, MAX_CHARACTERS).join("");
  const words = Object.fromEntries(WORDS.map((name, index) => [name, cut(longest[index])])) as Words;
  const terms = termsOfSearch(needles);
  return { ...words, terms: JSON.stringify(terms), match: terms.join(" ") };
}

/**
 * A row: a match of the index, one of the window as far as SQL knows, the last row that it looked at, one without a fold, or one that
 * changed after the index saw it.
 */
export interface Candidate extends Stored<Animal> {
  part?: "match" | "seen" | "end" | "unfilled" | "changed";
}

/**
 * The first matches, as many as the parameter `limit`: those of the index, and of the animals that events after its place name. If there
 * are fewer than `limit` in the index, the last row of as many as it looks at, without a body. The index joins the terms if one of them is
 * in few animals. Otherwise FTS5 might walk all animals without a match: then the first term finds them, and the names decide.
 *
 * While the index is not current, those in a window of animals, or the last row of a full window. Then the first rows without a fold,
 * without a body where a filter leaves them out. The window ends with the last of them.
 *
 * @param indexed SQL that names the index of a filter. With bounds on both sides, SQLite may choose another one.
 * @param parts the conditions of the animals, mutually exclusive. The index holds the rows of each in the order of ids.
 * @param filter the condition that they have in common, but for the cursor. There is none when they are all animals.
 */
export function candidates(
  db: QueryBuilder,
  parameter: (name: keyof (Bounds & Words & Terms)) => Placeholder,
  { indexed, parts, filter }: { indexed: string; parts: readonly (SQL | undefined)[]; filter: SQL | undefined },
  sort: Sort,
): Built<Candidate[]> {
  const [order, isAfter, isUpTo, end] = (
    sort === "id" ? ["ASC", ">", "<=", "9223372036854775807"] : ["DESC", "<", ">=", "-1"]
  ).map((text) => sql.raw(text));
  const rows = (limit: number, offset = 0) => sql.raw(`LIMIT ${limit} OFFSET ${offset}`);
  /** The same while the index is current, or while it is not. */
  const rowsIf = (isCurrent: boolean, limit: number, offset = 0) =>
    sql.raw(`LIMIT ${limit} * (${isCurrent ? "" : "NOT "}EXISTS (SELECT 1 FROM present)) OFFSET ${offset}`);
  // FTS5 goes straight to an integer. For a float, it walks from the first row.
  const cursor = sql`CAST(${parameter("after")} AS INTEGER)`;
  // SQLite plans with the value of a parameter that is the whole limit, and so compiles the statement again for each search.
  const limit = sql`CAST(${parameter("limit")} AS INTEGER)`;
  const limitWithLong = sql`${limit} + ${sql.raw(String(MAX_LONG))}`;
  const unfilled = sql`FROM unfilled AS pets WHERE ${pets.id} ${isAfter} ${parameter("after")} ORDER BY ${pets.id} ${order}`;
  const named = sql`*, coalesce(folded, ' ' || lower(name)) AS text FROM pets`;
  const animals = sql.join(
    parts.map(
      (part) => sql`SELECT ${named} ${sql.raw(indexed)} WHERE ${part} AND ${pets.id} ${isUpTo} (SELECT id FROM last)`,
    ),
    sql` UNION ALL `,
  );
  const isIn = sql`EXISTS (SELECT 1 FROM unfilled WHERE unfilled.id = ${pets.id})`;
  const words = sql.join(
    WORDS.map((name) => sql`instr(text, ${parameter(name)})`),
    sql` AND `,
  );
  /** Of a long name, code decides, so that SQL need not look at many. */
  const contains = sql`(octet_length(text) > ${sql.raw(String(MAX_BYTES))} OR ${words})`;
  const matches = and(filter, or(contains, isIn));
  const row = (part: Candidate["part"], body = pet.body()) =>
    sql`SELECT ${exact(pets.id)} AS id, ${pets.version} AS version, ${body} AS body, ${sql.raw(`'${part}'`)} AS part`;
  const having = (term: SQL) =>
    sql`FROM pets_words WHERE pets_words MATCH ${term} AND rowid ${isAfter} ${cursor} ORDER BY rowid ${order}`;
  // The name of each source is that of the table, so that the columns have their names. A look into the index of the unfilled rows
  // is in the place of their condition. Without INDEXED BY, SQLite would read the table in the order of ids.
  const found = sql`WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = ${sql.raw(`'${RULES}'`)} AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - ${sql.raw(String(MAX_CHANGES))}),
    changed(pet) AS MATERIALIZED (SELECT DISTINCT CAST(data ->> 'id' AS INTEGER) FROM events
      WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(${parameter("terms")}) = 1 OR EXISTS (
      SELECT 1 FROM json_each(${parameter("terms")}) AS term
      WHERE NOT EXISTS (SELECT 1 ${having(sql`term.value`)} ${rows(1, WINDOW)})),
      ${parameter("match")}, json_extract(${parameter("terms")}, '$[0]'))),
    unfilled AS NOT MATERIALIZED (SELECT * FROM pets INDEXED BY pets_unfolded_idx WHERE ${isUnfilled}),
    last(id) AS MATERIALIZED (
      SELECT ifnull((SELECT id ${unfilled} ${rowsIf(false, 1, MAX_UNFILLED - 1)}), ${end})),
    hits AS NOT MATERIALIZED (SELECT rowid AS hit ${having(sql`(SELECT expression FROM asked)`)}),
    animals AS NOT MATERIALIZED (${animals})
    SELECT * FROM (
      ${row("match")} FROM (SELECT hit FROM hits ${rowsIf(true, WINDOW)}) CROSS JOIN (SELECT ${named}) AS pets ON ${pets.id} = hit
        WHERE hit NOT IN (SELECT pet FROM changed) AND ${matches}
      UNION ALL SELECT CAST(hit AS TEXT), 0, '', 'end' FROM (SELECT hit FROM hits ${rowsIf(true, 1, WINDOW - 1)})
      LIMIT ${limit})
    UNION ALL SELECT * FROM (
      ${row("changed")} FROM changed CROSS JOIN (SELECT ${named}) AS pets ON ${pets.id} = pet
        WHERE ${pets.id} ${isAfter} ${cursor} AND ${matches} ORDER BY ${pets.id} ${order} LIMIT ${limitWithLong})
    UNION ALL SELECT * FROM (
      ${row("seen")} FROM (SELECT * FROM animals ORDER BY id ${order} ${rowsIf(false, WINDOW)}) AS pets
        WHERE ${contains} AND NOT ${isIn}
      UNION ALL ${row("end", sql`''`)} FROM (SELECT * FROM animals ORDER BY id ${order} ${rowsIf(false, 1, WINDOW - 1)}) AS pets
      LIMIT ${limitWithLong})
    UNION ALL SELECT * FROM (
      ${row("unfilled", filter && sql`iif(${filter}, ${pet.body()}, '')`)} ${unfilled} ${rowsIf(false, MAX_UNFILLED)})`;
  return db
    .select({
      id: sql<Int64>`found.id`.as("id"),
      version: sql<number>`found.version`.as("version"),
      body: sql<Json<Animal>>`found.body`.as("body"),
      part: sql<NonNullable<Candidate["part"]>>`found.part`.as("part"),
    })
    .from(sql`(${found}) AS found`);
}

/** Whether an animal has all words. Of those with a fold, SQL has looked at a part of them. */
export function hasWords({ body }: Stored<Animal>, needles: readonly string[]): boolean {
  if (body === "") return false;
  const name = foldedName((JSON.parse(body) as Animal).name);
  return needles.every((needle) => name.includes(needle));
}

/** The page of a search. It may have fewer animals than `limit`, or none, and still go on. */
export function pageOfSearch(query: PageQuery, needles: readonly string[], rows: Candidate[]): Found<Listed<Animal>[]> {
  const limit = limitOf(query.limit);
  const partOf = (part: Candidate["part"]) => rows.filter((row) => row.part === part);
  const direction = query.sort === "-id" ? -1n : 1n;
  const compare = (a: Candidate, b: Candidate) => Number((BigInt(a.id) - BigInt(b.id)) * direction);
  // What comes after the first of these is not known.
  const ends = [
    partOf("match")[limit],
    partOf("seen")[limit + MAX_LONG],
    partOf("changed")[limit + MAX_LONG],
    ...partOf("end"),
    partOf("unfilled")[MAX_UNFILLED - 1],
  ];
  const [end] = ends.filter((row) => row !== undefined).toSorted(compare);
  const found: Candidate[] = [];
  for (const row of rows.toSorted(compare)) {
    if (found.length > limit || (end !== undefined && compare(row, end) > 0)) break;
    if (hasWords(row, needles)) found.push(row);
  }
  return toPage(query, found, end);
}
