import type { Context } from "hono";
import type { AppEnv } from "../env.ts";
import { foldedName, RULES } from "./fold.ts";
import { termsOfName } from "./terms.ts";

/** Maximum number of animals, or of events, of one step. Other queries wait for a step: docs/capacity.md. */
export const INDEXED_AT_ONCE = 1_000;
/** Maximum number of statements of a step: its state, its names with the newest event, and three that write. */
const STATEMENTS = 6;
/** Characters of the terms in one parameter, of three bytes each at most. D1 documents 2,000,000 bytes (docs/standards.md). */
const MAX_LENGTH = 600_000;

/** How far the index is, and the first and the last event. */
interface State {
  rules: string;
  ready: number;
  filledTo: string;
  place: number;
  oldest: number;
  newest: number;
}

interface Name {
  id: string;
  /** Where it ends a step: the id, or that of the last event of the animal. */
  at: string | number;
  /** Null for an animal that is deleted. */
  name: string | null;
}

/** The newest event. The table is never empty. */
interface End {
  id: number;
  tag: number;
}

const SELECT_STATE = `SELECT rules, ready, CAST(filled_to AS TEXT) AS filledTo, place,
    (SELECT min(id) FROM events) AS oldest, (SELECT max(id) FROM events) AS newest FROM search_index`;
const EMPTY = "INSERT INTO pets_words (pets_words) VALUES ('delete-all')";
const BEGIN = "UPDATE search_index SET rules = ?, ready = 0, filled_to = 0, place = (SELECT max(id) FROM events)";
const SELECT_NEXT = `SELECT CAST(id AS TEXT) AS id, CAST(id AS TEXT) AS at, name FROM pets WHERE id > ? ORDER BY pets.id LIMIT ${INDEXED_AT_ONCE}`;
// A name is that of now, also for an earlier event of its animal: the last one is the place.
const SELECT_CHANGED = `SELECT CAST(pet AS TEXT) AS id, at, name FROM (
    SELECT CAST(data ->> 'id' AS INTEGER) AS pet, max(id) AS at FROM events WHERE id > ? AND id <= ? AND type LIKE 'pet.%' GROUP BY pet)
    LEFT JOIN pets ON pets.id = pet ORDER BY at`;
const SELECT_END = "SELECT id, tag FROM events ORDER BY id DESC LIMIT 1";
/**
 * Only if nobody else has changed the index since its state was read, no event after its place was removed, and the history still has the
 * event that was the newest one beside the names: a restore takes back names, and gives out the ids of events again.
 */
const SAME = `EXISTS (SELECT 1 FROM search_index
    WHERE rules = ? AND filled_to = ? AND place = ? AND place >= (SELECT min(id) FROM events))
  AND EXISTS (SELECT 1 FROM events WHERE id = ? AND tag = ?)`;
// A second row of the same animal would leave the words of the first one findable. It is no error to delete one that is not there.
const REMOVE = `DELETE FROM pets_words WHERE rowid IN (SELECT value ->> 0 FROM json_each(?)) AND ${SAME}`;
const ADD = `INSERT INTO pets_words (rowid, words) SELECT value ->> 0, value ->> 1 FROM json_each(?) WHERE value ->> 1 IS NOT NULL AND ${SAME}`;
const ADVANCE = `UPDATE search_index SET ready = ?, filled_to = ?, place = ? WHERE ${SAME}`;

/** How far the index of the words is after a run. */
export interface Indexed {
  /** Number of animals that it indexed. */
  count: number;
  /** Whether the index has all animals. If not, the next run continues. */
  finished: boolean;
}

/**
 * Fills the index of the words by the ids of the animals, and follows the events of animals, which every change writes, also of an
 * earlier version. Several runs at once do nothing twice.
 *
 * @param statements maximum number of statements. D1 bounds them in an invocation of a Worker.
 * @param fewest does nothing for fewer waiting events. Only with 1 it also fills the index, or begins anew.
 * @throws Error of D1, when it fails before anything was written.
 */
export async function indexNames(database: D1Database, statements: number, fewest = 1): Promise<Indexed> {
  let count = 0;
  try {
    for (let left = statements; left >= STATEMENTS; left -= STATEMENTS) {
      const [state] = (await database.prepare(SELECT_STATE).bind().run<State>()).results;
      if (state === undefined) break;
      const { rules, ready, filledTo, place, oldest, newest } = state;
      const isOwn = rules === RULES && place >= oldest;
      // Also while it is filled, or the feed might forget an event after the place before all animals are in.
      const follows = isOwn && (ready === 1 || newest - place >= INDEXED_AT_ONCE);
      if (follows && newest - place < fewest) return { count, finished: true };
      if (!follows && fewest > 1) break;
      const run = (sql: string, ...values: unknown[]) => database.prepare(sql).bind(...values);
      if (!isOwn) {
        await database.batch([run(EMPTY), run(BEGIN, RULES)]);
        continue;
      }
      const furthest = place + INDEXED_AT_ONCE;
      const select = follows ? run(SELECT_CHANGED, place, furthest) : run(SELECT_NEXT, filledTo);
      type Read = [D1Result<Name>, D1Result<End>];
      const [{ results }, ends] = (await database.batch([select, run(SELECT_END)])) as Read;
      const [end] = ends.results as [End];
      let length = 0;
      const rows = results
        .map(({ id, name }) => `[${id},${JSON.stringify(name === null ? null : termsOfName(foldedName(name)))}]`)
        .filter((row) => (length += row.length) <= MAX_LENGTH);
      const at = results[rows.length - 1]?.at;
      const hasAll = rows.length === results.length;
      const next = follows
        ? [ready, filledTo, hasAll ? Math.min(end.id, furthest) : at]
        : [Number(hasAll && rows.length < INDEXED_AT_ONCE), at ?? filledTo, place];
      const [added, same] = [`[${rows.join()}]`, [rules, filledTo, place, end.id, end.tag]];
      await database.batch([run(REMOVE, added, ...same), run(ADD, added, ...same), run(ADVANCE, ...next, ...same)]);
      count += rows.length;
    }
  } catch (error) {
    // Perhaps at the limit of the plan (D1 documentation, Limits).
    if (count === 0) throw error;
  }
  return { count, finished: false };
}

/** Milliseconds between two looks of an isolate at the events that wait, at least: after many changes, and after a few. */
const BETWEEN_LOOKS = { many: 1_000, few: 10_000 };
const MANY = 10;
/** Events that have to wait. Until then, searches read them. */
const FEWEST = 100;
/** Statements of a look. They index 2,000 events, as many as a search reads. */
const MAX_STATEMENTS = 4 * STATEMENTS;

let lookedAt = 0;
let changes = 0;

/** After a change, lets the index follow when enough events wait, so that searches need not wait for the hourly job. */
export function indexAfter(c: Context<AppEnv>, now: number): void {
  changes++;
  // A time in the future is due too: the clock may have been set back.
  const age = now < lookedAt ? Infinity : now - lookedAt;
  if (age < (changes < MANY ? BETWEEN_LOOKS.few : BETWEEN_LOOKS.many)) return;
  lookedAt = now;
  changes = 0;
  // The hourly job meets the same failure, and says so.
  c.executionCtx.waitUntil(indexNames(c.env.DB, MAX_STATEMENTS, FEWEST).catch(() => {}));
}
