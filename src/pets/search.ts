import { and, getTableColumns, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Bounds, Sort } from "../db/page.ts";
import type { Stored } from "../db/resource.ts";
import type { Built, QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { type Found, limitOf, type Listed, type PageQuery, toPage } from "../http/paging.ts";
import { foldedName } from "./fold.ts";
import { type Animal, pet } from "./shape.ts";
import { isUnfilled, pets } from "./table.ts";

export const MAX_SEARCH_CHARACTERS = 255;
/** Animals that a request examines at most. It may read them twice. */
export const WINDOW = 10_000;
/** Rows without a fold that it examines at most. */
export const MAX_UNFILLED = 200;
/** Characters of a word that SQL looks at, with the space before it. */
const MAX_CHARACTERS = 17;

/** The parameters of a search, for its longest words. */
const WORDS = ["word1", "word2", "word3", "word4", "word5", "word6", "word7", "word8"] as const;
/** Every name contains an empty one. */
export type Words = { [name in (typeof WORDS)[number]]: string };

export function parametersOf(needles: readonly string[]): Words {
  const longest = needles.toSorted((a, b) => b.length - a.length);
  // By code points: D1 does not return half of a pair as it was (docs/standards.md).
  const cut = (needle = "") => [...needle].slice(0, MAX_CHARACTERS).join("");
  return Object.fromEntries(WORDS.map((name, index) => [name, cut(longest[index])])) as Words;
}

/** A row: a match in the window as far as SQL knows, the last one of a full window, or one without a fold. */
export interface Candidate extends Stored<Animal> {
  part?: "match" | "end" | "unfilled";
}

/**
 * The first matches in a window of animals, as many as the parameter `limit`. If there are fewer, the last row of a full window, without a
 * body. Then the first rows without a fold, without a body where a filter leaves them out. The window ends with the last of them.
 *
 * @param indexed SQL that names the index. With bounds on both sides, SQLite may choose another one.
 * @param parts the conditions of the animals, mutually exclusive. The index holds the rows of each in the order of ids.
 * @param filter the condition that they have in common, but for the cursor. There is none when they are all animals.
 */
export function candidates(
  db: QueryBuilder,
  parameter: (name: keyof (Bounds & Words)) => Placeholder,
  { indexed, parts, filter }: { indexed: string; parts: readonly (SQL | undefined)[]; filter: SQL | undefined },
  sort: Sort,
): Built<Candidate[]> {
  const [order, isAfter, isUpTo, end] = (
    sort === "id" ? ["ASC", ">", "<=", "9223372036854775807"] : ["DESC", "<", ">=", "-1"]
  ).map((text) => sql.raw(text));
  const rows = (limit: number, offset = 0) => sql.raw(`LIMIT ${limit} OFFSET ${offset}`);
  // Without INDEXED BY, SQLite would read the table in the order of ids.
  const unfilled = sql`pets INDEXED BY pets_unfilled_idx
    WHERE ${isUnfilled} AND ${pets.id} ${isAfter} ${parameter("after")} ORDER BY ${pets.id} ${order}`;
  const columns = sql.raw(
    Object.values(getTableColumns(pets))
      .map(({ name }) => (name === pets.folded.name ? `coalesce(${name}, ' ' || lower(name)) AS ${name}` : name))
      .join(", "),
  );
  const window = sql.join(
    parts.map(
      (part) => sql`SELECT ${columns} FROM pets ${sql.raw(indexed)}
        WHERE ${part} AND ${pets.id} ${isUpTo} (SELECT id FROM last)`,
    ),
    sql` UNION ALL `,
  );
  const contains = WORDS.map((name) => sql`instr(${pets.folded}, ${parameter(name)})`);
  const row = (part: Candidate["part"], body = pet.body()) =>
    sql`SELECT ${exact(pets.id)} AS id, ${pets.version} AS version, ${body} AS body, ${sql.raw(`'${part}'`)} AS part`;
  // The name of a window is that of the table, so that the columns have their names.
  const found = sql`WITH last(id) AS MATERIALIZED (
      SELECT ifnull((SELECT id FROM ${unfilled} ${rows(1, MAX_UNFILLED - 1)}), ${end}))
    SELECT * FROM (
      ${row("match")} FROM (${window} ORDER BY id ${order} ${rows(WINDOW)}) AS pets
        WHERE ${and(...contains)} AND NOT ${isUnfilled}
      UNION ALL ${row("end", sql`''`)} FROM (${window} ORDER BY id ${order} ${rows(1, WINDOW - 1)}) AS pets
      LIMIT ${parameter("limit")})
    UNION ALL SELECT * FROM (
      ${row("unfilled", filter && sql`iif(${filter}, ${pet.body()}, '')`)} FROM ${unfilled} ${rows(MAX_UNFILLED)})`;
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
  const ends = [partOf("match")[limit], ...partOf("end"), partOf("unfilled")[MAX_UNFILLED - 1]];
  const [end] = ends.filter((row) => row !== undefined).toSorted(compare);
  const found: Candidate[] = [];
  for (const row of rows.toSorted(compare)) {
    if (found.length > limit || (end !== undefined && compare(row, end) > 0)) break;
    if (hasWords(row, needles)) found.push(row);
  }
  return toPage(query, found, end);
}
