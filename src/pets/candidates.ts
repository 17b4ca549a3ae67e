// The SQL of a search. The bundle leaves this module out, as it does drizzle (wrangler.toml, `[alias]`).
import { and, type Placeholder, type SQL, sql } from "drizzle-orm";
import type { Bounds, Sort } from "../db/page.ts";
import type { Built, QueryBuilder } from "../db/statement.ts";
import { exact } from "../exact/column.ts";
import type { Int64 } from "../exact/int64.ts";
import type { Json } from "../exact/json.ts";
import { RULES } from "./fold.ts";
import {
  type Candidate,
  MAX_BYTES,
  MAX_CHANGES,
  MAX_UNKNOWN,
  type Terms,
  WINDOW,
  WORDS,
  type Words,
} from "./search.ts";
import { type Animal, pet } from "./shape.ts";
import { isUnfilled, pets } from "./table.ts";

/**
 * The first animals that have the words as far as SQL knows. They are those of the index, and those that later events name. The index joins
 * the terms if one of them is in few animals. Otherwise FTS5 might walk all animals without a match: then the first term finds them.
 *
 * While the index is not current, they are those of a filter. If there are as many as a request examines, the last one comes too.
 *
 * @param parts the conditions of the animals, mutually exclusive. An index holds the rows of each in the order of ids.
 * @param filter the condition that they have in common, but for the cursor. There is none when they are all animals.
 */
export function candidates(
  db: QueryBuilder,
  parameter: (name: keyof (Bounds & Words & Terms)) => Placeholder,
  parts: readonly (SQL | undefined)[],
  filter: SQL | undefined,
  sort: Sort,
): Built<Candidate[]> {
  const [order, isAfter] = (sort === "id" ? ["ASC", ">"] : ["DESC", "<"]).map((text) => sql.raw(text));
  const [most, changes, bytes, unknown] = [WINDOW, MAX_CHANGES, MAX_BYTES, MAX_UNKNOWN].map((n) => sql.raw(String(n)));
  // FTS5 goes straight to an integer. For a float, it walks from the first row.
  const after = sql`CAST(${parameter("after")} AS INTEGER)`;
  const having = (term: SQL) => sql`FROM pets_words WHERE pets_words MATCH ${term} AND rowid ${isAfter} ${after}`;
  const animals = parts.map((part) => sql`SELECT ${pets.id} FROM pets WHERE ${part}`);
  const words = WORDS.map((name) => sql`instr(text, ${parameter(name)})`);
  // Of a long name, code decides, so that SQL need not look at many. A look into the index is in the place of its condition.
  const matches = sql`(octet_length(text) > ${bytes} OR ${sql.join(words, sql` AND `)}
    OR EXISTS (SELECT 1 FROM pets AS unfilled INDEXED BY pets_unfolded_idx WHERE ${isUnfilled} AND id = examined.id))`;
  // SQLite plans with the value of a parameter that is the whole limit, and so compiles the statement again for each search.
  const found = sql`WITH present(place) AS MATERIALIZED (
      SELECT place FROM search_index WHERE ready AND rules = ${sql.raw(`'${RULES}'`)} AND place >= (SELECT min(id) FROM events)
        AND place >= (SELECT max(id) FROM events) - ${changes}),
    changed(id) AS MATERIALIZED (
      SELECT CAST(data ->> 'id' AS INTEGER) FROM events WHERE id > (SELECT place FROM present) AND type LIKE 'pet.%'),
    asked(expression) AS MATERIALIZED (SELECT iif(json_array_length(${parameter("terms")}) = 1 OR EXISTS (
      SELECT 1 FROM json_each(${parameter("terms")}) AS term
      WHERE NOT EXISTS (SELECT 1 ${having(sql`term.value`)} ORDER BY rowid ${order} LIMIT 1 OFFSET ${most})),
      ${parameter("match")}, json_extract(${parameter("terms")}, '$[0]'))),
    unknown(more) AS MATERIALIZED (
      SELECT min(${unknown}, iif(EXISTS (SELECT 1 FROM present), (SELECT count(*) FROM changed), ${unknown}))),
    examined(id) AS NOT MATERIALIZED (
      SELECT * FROM (SELECT rowid AS id ${having(sql`(SELECT expression FROM asked)`)}
        UNION SELECT id FROM changed WHERE id ${isAfter} ${after}
        ORDER BY 1 ${order} LIMIT ${most} * EXISTS (SELECT 1 FROM present))
      UNION ALL SELECT * FROM (${sql.join(animals, sql` UNION ALL `)}
        ORDER BY 1 ${order} LIMIT ${most} * NOT EXISTS (SELECT 1 FROM present)))
    SELECT ${exact(pets.id)} AS id, ${pets.version} AS version, ${pet.body()} AS body, (SELECT more FROM unknown) AS more
      FROM examined CROSS JOIN (SELECT *, coalesce(folded, ' ' || lower(name)) AS text FROM pets) AS pets ON ${pets.id} = examined.id
      WHERE ${and(filter, matches)}
    UNION ALL SELECT CAST(id AS TEXT), 0, '', 0 FROM (SELECT id FROM examined LIMIT 1 OFFSET ${most} - 1)
    LIMIT CAST(${parameter("limit")} AS INTEGER) + (SELECT more FROM unknown)`;
  return db
    .select({
      id: sql<Int64>`found.id`.as("id"),
      version: sql<number>`found.version`.as("version"),
      body: sql<Json<Animal>>`found.body`.as("body"),
      more: sql<number>`found.more`.as("more"),
    })
    .from(sql`(${found}) AS found`);
}
