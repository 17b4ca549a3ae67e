import { randomInt } from "node:crypto";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { expect, test } from "vitest";
import document from "../../public/openapi.json" with { type: "json" };
import { Model } from "../model/model.ts";
import { checkersOf, type Finding } from "./checkers.ts";
import { stateOf } from "./d1.ts";
import { kindOf } from "./feed.ts";
import { type Event, type Exchange, History, type Trip } from "./history.ts";
import { picture } from "./picture.ts";
import { answerOf, parse, questionOf } from "./specification.ts";
import { type Outcome, presentCode, runWorld } from "./world.ts";

// The plan of docs/decisions/growing-past-one-database.md in simulated worlds: databases one after another.

const HEADER = "x-d1-bookmark";
/** Backups and restores are of one database. Followers keep one place, and need one for each database. */
const CALM = new Set(["a snapshot", "restore", "a backup", "a restore of a backup", "a follower goes on"]);
const IDS = 2 ** 40;
/** Animals of each database but the last. The mark comes with the last of them. */
const ANIMALS = 25;
/** What each database has beside its tables. */
const databases = [ANIMALS, ANIMALS, IDS].map(
  (animals, place) => `CREATE TABLE closed (id INTEGER PRIMARY KEY);
    INSERT INTO sqlite_sequence (name, seq) VALUES ('pets', ${place * IDS}), ('orders', ${place * IDS});
    UPDATE events SET id = id + ${place * IDS};
    CREATE TRIGGER close AFTER INSERT ON pets WHEN new.id = ${place * IDS + animals} BEGIN INSERT INTO closed VALUES (1); END`,
);

/** What several databases change in the source. The published form of a bookmark has one, which is the breach that the plan needs. */
const CHANGES: [file: string, from: string, to: string][] = [
  ["http/open-session.ts", "new Session(c", "new several.Session(c"],
  ["http/open-session.ts", "/^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/", "/^[0-9a-f,-]+$/"],
  ["http/read.ts", "bookmark <= cached.value.bookmark", "several.answers(cached.value.bookmark, bookmark)"],
  ["src/connection.ts", "/^[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{8}-[0-9a-f]{32}$/", "/^[0-9a-f,-]+$/"],
  ["src/connection.ts", 'bookmark > (memory.bookmark ?? "")', "true"],
  ["src/connection.ts", "memory.bookmark = bookmark", "memory.bookmark = several.merge(memory.bookmark, bookmark)"],
];

/** A file of the source with its changes. */
function change({ path }: { path: string }) {
  let contents = `import * as several from "${import.meta.dirname}/several.ts";${readFileSync(path, "utf8")}`;
  for (const [, from, to] of CHANGES.filter(([file]) => path.endsWith(file))) {
    expect(contents).toContain(from);
    contents = contents.replace(from, to);
  }
  return { contents, loader: "ts" as const };
}

const isRead = ({ method, path }: Exchange) => method === "GET" && path !== "/v1/store/inventory";
const isPage = ({ method, path }: Exchange) => method === "GET" && /^\/v1\/(?:pets|store\/orders)(?:\?|$)/.test(path);
const isCreation = ({ method, path }: Exchange) => method === "POST" && /^\/v1\/pets(?:\/batch)?$/.test(path);
const changed = ({ before, after }: Trip) => before !== after;

/** What a world did in one of its databases, as if it were the only one. */
function inPlace(outcome: Outcome, place: number): Outcome {
  const of = (bookmarks: string | null | undefined) => bookmarks?.split(",")[place] || undefined;
  const partOf = (one: Exchange): Exchange => {
    const headers = { ...one.headers, [HEADER]: of(one.headers[HEADER]) as string };
    const responseHeaders = new Headers(one.responseHeaders);
    const reached = responseHeaders.get(HEADER);
    if (of(reached) !== undefined) responseHeaders.set(HEADER, of(reached) as string);
    // What comes from memory is not of this database.
    else if (reached !== null) for (const name of [HEADER, "Age"]) responseHeaders.delete(name);
    // `pagesAreWhole` judges the rows of a page.
    const part = { ...one, headers, responseHeaders, trips: [], refusal: isPage(one) ? 0 : one.refusal };
    const isHere = (one.trips.at(-1)?.place ?? 0) === place || (isRead(one) && one.status !== 503);
    if (!isHere) delete part.status;
    return part;
  };
  const parts = new Map(outcome.history.exchanges.map((one) => [one, partOf(one)]));
  const events = outcome.history.events.flatMap((event): Event[] => {
    if (event.kind === "occurrence")
      return (event.place ?? place) === place ? [{ ...event, bookmark: of(event.bookmark) ?? "" }] : [];
    const exchange = parts.get(event.exchange) as Exchange;
    if (event.kind !== "trip") return [{ ...event, exchange }];
    const isAnswer = event === event.exchange.trips.at(-1) && (event.exchange.status ?? 503) !== 503;
    const isLookUp = isCreation(exchange) && event.instance !== undefined && !changed(event) && !isAnswer;
    if (event.place !== place || isLookUp) return [];
    exchange.trips.push({ ...event, exchange });
    return exchange.trips.slice(-1);
  });
  const history = Object.assign(new History(), outcome.history, { exchanges: [...parts.values()], events });
  return { ...outcome, ...outcome.databases[place], history };
}

/** A page shows each database at the state that it has seen. It ends with one that is open. */
function* pagesAreWhole({ history, databases: all }: Outcome): Generator<Finding> {
  const changes = all.map(({ feed }) =>
    feed.map(({ added }) => added.map(({ data, ...row }) => ({ reference: null, ...row, ...parse(data) }))),
  );
  for (const exchange of history.exchanges) {
    if (!isPage(exchange) || exchange.status !== 200) continue;
    const seen = exchange.responseHeaders?.get(HEADER)?.split(",").map(stateOf) ?? [];
    if (exchange.trips.length > 0) seen.fill(NaN);
    for (const { place, after } of exchange.trips) seen[place] = after;
    const model = new Model();
    for (const [place, states] of changes.entries()) {
      const { [place]: state = NaN } = seen;
      let isOpen = state >= 0;
      for (const row of states.slice(0, isOpen ? state + 1 : undefined).flat()) {
        const rows = { pet: model.pets, order: model.orders, category: undefined }[kindOf(row.type)];
        if (row.type.endsWith(".deleted")) rows?.delete(row.id);
        else rows?.set(row.id, row as never);
        if (row.type === "pet.created" && row.id === place * IDS + ANIMALS) isOpen = false;
      }
      if (isOpen) break;
    }
    const [answer, expected] = [answerOf(exchange), questionOf(exchange)?.(model, 0)];
    if (!isDeepStrictEqual(answer, expected))
      yield { exchange, message: `The page is ${JSON.stringify(answer)} instead of ${JSON.stringify(expected)}.` };
  }
}

/** Ids ascend in the order of creation, and a creation happens once under its key, whichever database knows it. */
function* creationsAreInOrder({ history }: Outcome): Generator<Finding> {
  const known = new Set<string>();
  let newest = 0;
  for (const event of history.events) {
    const { forgotten = [] } = event.kind === "occurrence" ? event : {};
    for (const { apiKeyId, key } of forgotten) known.delete(`${apiKeyId} ${key}`);
    if (event.kind !== "trip" || !changed(event) || !isCreation(event.exchange)) continue;
    const { exchange, place } = event;
    const key = `${exchange.apiKey} ${exchange.headers["Idempotency-Key"] ?? exchange.id}`;
    if (place < newest) yield { exchange, message: "The id is lower than that of an earlier animal." };
    if (known.has(key)) yield { exchange, message: "The creation happens again." };
    known.add(key);
    newest = place;
  }
}

const { roundTripsAreBounded: _trips, responsesFit: _form, ...checkers } = checkersOf(document as never);
const OF_ONE = /^(?:oneAfterAnother|bookmarksAreTrue|sessionsNeverGoBack|memoriesAreYoung|feedIsExact)$/;

test("worlds with several databases keep the guarantees that the plan promises", { timeout: 600_000 }, async () => {
  const filter = /\/(?:open-session|connection|read)\.ts$/;
  const code = await presentCode({ name: "several", setup: (build) => build.onLoad({ filter }, change) });
  const { SEED: first = randomInt(2 ** 31), WORLDS: worlds = 2 } = process.env;
  for (let seed = Number(first); seed < Number(first) + Number(worlds); seed++) {
    const plan = { seed, steps: 1_500, calm: CALM, databases };
    const whole = await runWorld(code, plan);
    const parts = databases.map((_, place) => inPlace(whole, place));
    for (const [checker, check] of Object.entries({ ...checkers, pagesAreWhole, creationsAreInOrder }))
      for (const outcome of OF_ONE.test(checker) ? parts : [whole])
        for (const finding of check(outcome))
          expect.fail(`SEED=${seed} shows it.\n${picture({ plan, outcome, violation: { ...finding, checker } })}`);
  }
});
