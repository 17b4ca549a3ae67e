// Figures in the prose of the documentation that come from the code.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { LARGEST_START } from "../../bench/candidates.ts";
import clientPackage from "../../client/package.json" with { type: "json" };
import { defaultPolicy } from "../../client/src/retry.ts";
import { CHECKSUM_LENGTH, RANDOM_LENGTH, SECRET_LENGTH } from "../../src/auth/key-format.ts";
import { KV_CACHE_TTL_SECONDS, MAX_CACHED_KEYS, RECORD_SECONDS, REFUSAL_SECONDS } from "../../src/auth/key-lookup.ts";
import { BUDGET_MILLISECONDS, MAX_OWNERS, RESOURCES_OF_A_REQUEST } from "../../src/auth/rate-limit.ts";
import { MAX_DESCRIPTION_CHARACTERS } from "../../src/categories/table.ts";
import { BACKOFF_MILLISECONDS, MAX_RETRIES } from "../../src/db/retry.ts";
import { MAX_NAME_CHARACTERS } from "../../src/name.ts";
import { BODY_TIMEOUT_MILLISECONDS, MAX_BODY_BYTES } from "../../src/http/body.ts";
import { LINGER_BYTES, LINGER_MILLISECONDS } from "../../src/http/lingering-close.ts";
import { DEFAULT_LIMIT } from "../../src/http/paging.ts";
import { MAX_BATCHES } from "../../src/jobs/purge.ts";
import { BATCH_SIZE } from "../../src/db/purge.ts";
import { LIFETIME_SECONDS } from "../../src/idempotency/purge.ts";
import { MAX_LENGTH } from "../../src/idempotency/attempt.ts";
import { COUNT_MILLISECONDS, COUNTED_A_SECOND } from "../../src/orders/get-inventory.ts";
import { FOLDED_AT_ONCE, MAX_FOLDS } from "../../src/pets/fold-names.ts";
import { MAX_IDS } from "../../src/pets/list-pets.ts";
import { MAX_UNFILLED, WINDOW as SEARCH_WINDOW } from "../../src/pets/search.ts";
import { BYTES, costOf, type RequestKind } from "../../test/costs.ts";
import { PAGE_BYTES, PAGE_ROWS } from "../../ops/backup/tables.ts";
import { BUDGET_BYTES } from "../client/build.ts";
import { DEFAULT_OVERLAP } from "../../ops/keys/command-line.ts";
import { MAX_ROTATIONS } from "../../ops/keys/operations.ts";
import { MAX_RECORD_BYTES } from "../../ops/keys/store.ts";
import { MAX_NAME_CHARACTERS as MAX_KEY_NAME_CHARACTERS } from "../../ops/keys/values.ts";
import { WEEK } from "../../ops/preview/command-line.ts";
import { KEY_LIFE } from "../../ops/preview/create.ts";
import { ATTEMPTS, LONGEST_WAIT } from "../../ops/release/api.ts";
import { JURISDICTIONS, LOCATIONS } from "../../ops/release/database.ts";
import { LEASE_SECONDS } from "../../ops/release/lease.ts";
import { WINDOW as EVENT_WINDOW } from "../../src/feed/window.ts";
import { BURST, LIMIT as API_LIMIT, requestsAMinute as paceOf, SUSTAINED, WINDOW } from "../../ops/release/pace.ts";
import { READINESS_KEY_SECONDS } from "../../ops/release/readiness.ts";
import { DEFAULT_WAIT } from "../../ops/release/options.ts";
import {
  ASSUMED_CPU,
  ASSUMED_LINE,
  LOG_DAYS,
  LOG_DOLLARS,
  PLAN_DOLLARS,
  PRICES,
  rowsToRemove,
  STORED_MONTHS,
  wholeCost,
} from "./costs.ts";
import { GUIDES, sourceOf } from "../../openapi/sources.ts";
import { DERIVED_TABLES } from "../../ops/backup/tables.ts";
import { ROOT } from "./pages.ts";

const HOUR = 3_600;
/** In which KV sends a value to every location, as it documents, and in which a revoked key stops working. */
const KV_PROPAGATION_SECONDS = 60;
const REVOCATION_SECONDS = KV_PROPAGATION_SECONDS + KV_CACHE_TTL_SECONDS + RECORD_SECONDS;
const DAY = 86_400_000;
/** A random character of a key is one of 62. */
const KEY_BITS = Math.floor(RANDOM_LENGTH * Math.log2(62));
const BACKOFF = BACKOFF_MILLISECONDS;
const REMOVABLE = BATCH_SIZE * MAX_BATCHES;
/** Seconds for which a key is stored at most, because the job runs once an hour. */
const STORED = LIFETIME_SECONDS + HOUR;
const MEGABYTES = Math.round((STORED * BYTES.idempotencyKey) / 1e6);
const EVENT_MEGABYTES = Math.round((7 * 86_400 * BYTES.event) / 1e6);
/** Statements that D1 allows in an invocation on the Free plan. */
const FREE_STATEMENTS = 50;
const LIMIT = requestsAMinute("production");
/** Requests a minute of a backup, and rows. */
const PACE = Math.round(paceOf(SUSTAINED));
const COPIED = PACE * PAGE_ROWS;
const BACKUP_MINUTES = Number(
  /timeout-minutes: (\d+)/.exec(readFileSync(join(ROOT, ".github/workflows/backup.yml"), "utf8"))?.[1],
);

/** The requests of a month with 100 million. */
const LISTS = 95;
const CREATIONS = 5;
const list = wholeCost("a list of 20");
const creation = wholeCost("a creation with an Idempotency-Key");
const rowsRead = LISTS * list.rowsRead + CREATIONS * creation.rowsRead;
const requestDollars = (100 - PRICES.requests.included) * PRICES.requests.dollars;
/** Pairs of a key and an isolate that are always in use: millions of KV reads, and dollars for them. */
const PAIRS = 350;
const kvReads = (PAIRS * 30 * 86_400) / RECORD_SECONDS / 1e6;
const kvDollars = (kvReads - PRICES["KV reads"].included) * PRICES["KV reads"].dollars;
const { "log ingestion": ingestion, "log storage": storage } = PRICES;
/** GB of 100 million lines. */
const logged = ASSUMED_LINE / 10;
const logDollars =
  (logged - ingestion.included) * ingestion.dollars + (logged * STORED_MONTHS - storage.included) * storage.dollars;

/** Days for which the feed keeps an event. */
const EVENT_DAYS = Number(/EVENT_DAYS = "(\d+)"/.exec(readFileSync(join(ROOT, "wrangler.toml"), "utf8"))?.[1]);
/** The budget of bytes of one key, in MiB. */
const STORED_MIB = Number(/STORED_MIB = "(\d+)"/.exec(readFileSync(join(ROOT, "wrangler.toml"), "utf8"))?.[1]);

/** The names of the tables of the service, as SQL. */
const TABLES = globSync("src/*/table.ts", { cwd: ROOT }).flatMap((file) =>
  [...readFileSync(join(ROOT, file), "utf8").matchAll(/sqliteTable\(\s*"(\w+)"/g)].map(([, name = ""]) => name),
);

/** Phrases that a page has to contain, with the figures of the code. */
export const FIGURES: { [page: string]: string[] } = {
  "client/README.md": [
    ...["npm install", "npx --package"].map(
      (command) => `${command} https://petstore.example/docs/petstore-client-${clientPackage.version}.tgz`,
    ),
    `less than ${BUDGET_BYTES / 1024} KiB after minification and gzip`,
    `retry: { ${Object.entries(defaultPolicy())
      .map(([name, value]) => `${name}: ${value.toLocaleString("en").replaceAll(",", "_").replace("∞", "Infinity")}`)
      .join(", ")} }`,
  ],
  "CONTRIBUTING.md": Object.keys(GUIDES).map((guide) => `\`${sourceOf(guide)}\``),
  "README.md": Object.keys(GUIDES).map((guide) => `(${sourceOf(guide)})`),
  "docs/backups.md": [
    ...(DERIVED_TABLES.join() === "inventory" ? ["The last count of the animals is left out too"] : DERIVED_TABLES),
    `[${count(API_LIMIT)} requests in ${WINDOW / 60_000} minutes]`,
    `send ${BURST} requests at once, and then ${PACE} a minute: at most ${count(Math.round(API_LIMIT * SUSTAINED))} in`,
    `So ${Math.round(API_LIMIT * (1 - SUSTAINED))} are left for other commands`,
    `It waits for ${LONGEST_WAIT / 60} minutes at most, and meets ${ATTEMPTS - 1} blocks`,
    `a page of ${count(PAGE_ROWS)} rows in a request, fewer if they have more than ${count(PAGE_BYTES)} bytes`,
    `about ${count(Math.floor(COPIED / 1e4) * 1e4)} rows a minute, or ${Math.floor((COPIED * 60) / 1e6)} million an hour`,
    `${count((PACE * PAGE_ROWS) / 2)} rows a minute, or ${(PACE * PAGE_ROWS * 30) / 1e6} million an hour`,
    `A run ends after ${BACKUP_MINUTES} minutes`,
  ],
  "docs/capacity.md": [
    `at most ${LARGEST_START} times the CPU of a Worker without libraries`,
    `A page of some types looks at ${count(EVENT_WINDOW)} rows at most`,
    `| ${count(2 * SEARCH_WINDOW)} at most | one for each ${count(SEARCH_WINDOW)} animals |`,
    `one for each ${MAX_UNFILLED} of these`,
    `${count(FOLDED_AT_ONCE * MAX_FOLDS)} names in a run`,
    `has not seen for ${RECORD_SECONDS} seconds`,
    `It stands for ${COUNT_MILLISECONDS / 1_000} seconds, or for one second for each ${count(COUNTED_A_SECOND)} animals`,
    `${count(COUNTED_A_SECOND)} rows a second, or ${money((COUNTED_A_SECOND * 30 * 86_400 * PRICES["D1 rows read"].dollars) / 1e6)} a`,
    `assumes ${ASSUMED_CPU} ms of CPU time`,
    `${LISTS} million are lists of 20, and ${CREATIONS} million are creations`,
    `Requests cost ${money(requestDollars)}, and the log ${money(logDollars)}`,
    `With ${PAIRS} pairs of a key and an isolate that are always in use, ${kvReads.toFixed(0)} million reads cost ${money(kvDollars)}`,
    `${count(rowsRead)} million rows read and ${CREATIONS * creation.rowsWritten} million rows written`,
    `the plan's $${PLAN_DOLLARS}, the total is **$${(PLAN_DOLLARS + requestDollars + logDollars + kvDollars).toFixed(0)}**`,
    `A line of the service has about ${BYTES.logLine} bytes`,
    `assumes ${count(ASSUMED_LINE)} bytes for each line`,
    `A line is stored for ${LOG_DAYS} days. A million lines cost $${LOG_DOLLARS.toFixed(3)}`,
    `One more index on \`pets\` costs ${money(PRICES["D1 rows written"].dollars)} a million`,
    `÷ ${BYTES.animal} = ${Math.round(1e4 / BYTES.animal)} million animals`,
    `| ${BYTES.idempotencyKey} | ${LIFETIME_SECONDS / HOUR} hours and an hour | ${MEGABYTES} MB |`,
    `| ${BYTES.event} | ${EVENT_DAYS} days | ${EVENT_MEGABYTES} MB |`,
    `A run removes up to ${count(REMOVABLE)} rows`,
    `A run then removes up to ${count(BATCH_SIZE * FREE_STATEMENTS)} rows`,
    `${removable("a creation with an Idempotency-Key")} creations with a key a second`,
    `${removable("a placement with an Idempotency-Key")} placements with a key`,
    `10,000 ÷ (${MEGABYTES} + ${EVENT_MEGABYTES}) = ${Math.floor(10_000 / (MEGABYTES + EVENT_MEGABYTES))} creations`,
    `${count(LIMIT)} requests a minute for each key and location are ${Math.round(LIMIT / 60)} a second`,
    `${STORED_MIB} MiB in ${BUDGET_MILLISECONDS / 60_000} minutes and isolate, or ${((STORED_MIB * 2 ** 20 * 86_400_000) / BUDGET_MILLISECONDS / 1e9).toFixed(1)} GB a day`,
    `An import of ${count(LIMIT * RESOURCES_OF_A_REQUEST)} animals a minute`,
    `About ${Math.round((60 * 1_000) / LIMIT)} keys that use their whole limit in one location send 1,000 queries`,
  ],
  "docs/decisions/request-bodies.md": [
    `may have ${MAX_BODY_BYTES / 1024} KiB (413) and take ${BODY_TIMEOUT_MILLISECONDS / 1_000} seconds (408)`,
    `reads ${LINGER_BYTES / 1024} KiB in ${LINGER_MILLISECONDS / 1_000} second`,
  ],
  "docs/errors.md": [
    `not complete within ${BODY_TIMEOUT_MILLISECONDS / 1_000} seconds`,
    `larger than ${MAX_BODY_BYTES / 1024} KiB`,
  ],
  "docs/events.md": [
    `Events stay for ${EVENT_DAYS} days`,
    `not run for ${EVENT_DAYS} days gets a 410`,
    `A page looks at ${count(EVENT_WINDOW)} events at most`,
  ],
  "docs/operations.md": TABLES.map((name) => `\`${name}\``),
  "docs/guarantees.md": [
    `A name has up to ${MAX_NAME_CHARACTERS} characters, and a description up to ${count(MAX_DESCRIPTION_CHARACTERS)}`,
    `It has 1 to ${MAX_LENGTH} visible ASCII characters`,
    `keeps it for at least ${LIFETIME_SECONDS / HOUR} hours`,
    `at most \`limit + ${costOf("a list by category").rowsRead - DEFAULT_LIMIT}\` rows`,
    `at most ${count(SEARCH_WINDOW)} animals, and reads some ${count(2 * (SEARCH_WINDOW + MAX_UNFILLED))} rows`,
    `at most ${costOf("a list of 100 ids").rowsRead / MAX_IDS} rows for each id`,
    `at most ${MAX_RETRIES} times: after ${BACKOFF / 2} to ${BACKOFF} ms and after ${BACKOFF} to ${2 * BACKOFF} ms`,
  ],
  "docs/orders.md": [
    `less than ${COUNT_MILLISECONDS / 1_000} seconds old, or less than one second for each ${count(COUNTED_A_SECOND)} animals`,
  ],
  "docs/keys.md": [
    `${SECRET_LENGTH} letters and digits follow. The last ${CHECKSUM_LENGTH} of them`,
    `A key may send ${count(LIMIT)} requests a minute`,
    `once more for each ${RESOURCES_OF_A_REQUEST} animals begun after the first ${RESOURCES_OF_A_REQUEST}. So ${count(LIMIT)} requests are ${count(LIMIT * RESOURCES_OF_A_REQUEST)} animals`,
    `store ${STORED_MIB} MiB, and as much again in each ${BUDGET_MILLISECONDS / 60_000} minutes`,
    `a 401 for up to ${KV_CACHE_TTL_SECONDS + REFUSAL_SECONDS} seconds more`,
    `a 401 within ${REVOCATION_SECONDS} seconds`,
  ],
  "docs/managing-keys.md": [
    `may accept a revoked key for ${REVOCATION_SECONDS} seconds`,
    `serves its own copy for ${KV_CACHE_TTL_SECONDS} seconds, and an isolate for ${RECORD_SECONDS} more`,
    `a 401 for up to ${KV_CACHE_TTL_SECONDS + REFUSAL_SECONDS} seconds more`,
    `the overlap: ${DEFAULT_OVERLAP / (HOUR * 1_000)} hours`,
    `A key can be rotated ${MAX_ROTATIONS} times`,
  ],
  "docs/runbook/leaks.md": [`within [${REVOCATION_SECONDS} seconds]`],
  "docs/releases.md": [
    `\`--location\` takes one of ${LOCATIONS.map((location) => `\`${location}\``).join(", ")}:`,
    `\`--jurisdiction\` takes one of ${JURISDICTIONS.map((jurisdiction) => `\`${jurisdiction}\``).join(", ")} `,
    `for at most ${DEFAULT_WAIT} seconds (\`--wait\`)`,
    `it expires in ${KEY_LIFE / DAY} days`,
    `nobody deployed for ${WEEK / DAY} days`,
    `The lease expires ${LEASE_SECONDS} seconds after its last renewal`,
    `with the scope \`pets:read\`, for ${READINESS_KEY_SECONDS / 60} minutes`,
  ],
  "docs/storage.md": [
    ...TABLES.map((name) => `| \`${name}\` `),
    `at most ${count(MAX_RECORD_BYTES)} bytes`,
    `A name has up to ${MAX_KEY_NAME_CHARACTERS} characters`,
    `below ${count(MAX_RECORD_BYTES)} bytes, even after ${MAX_ROTATIONS} rotations`,
    `| ${LIFETIME_SECONDS / HOUR} hours. A cron trigger`,
    `up to ${count(MAX_CACHED_KEYS)} API keys for ${RECORD_SECONDS} seconds`,
    `For ${REFUSAL_SECONDS} seconds, it also caches up to ${count(MAX_CACHED_KEYS)} keys`,
    `the changes of up to ${count(MAX_OWNERS)} keys`,
  ],
  "docs/threat-model.md": [
    `at most once per ${COUNT_MILLISECONDS / 1_000} seconds and at most ${count(COUNTED_A_SECOND)} animals a second`,
    `The revocation takes up to ${REVOCATION_SECONDS} seconds more`,
    `A key has ${KEY_BITS} random bits`,
    `10^3 / 2^${KEY_BITS}`,
    `at most ${LINGER_BYTES / 1024} KiB of a body`,
    `not complete within ${BODY_TIMEOUT_MILLISECONDS / 1_000} seconds`,
  ],
  "docs/standards.md": globSync("src/**/*.ts", { cwd: ROOT }).flatMap((file) => {
    const named = readFileSync(join(ROOT, file), "utf8").match(/\bRFC \d+|\bdraft-ietf-[\w-]+/g) ?? [];
    return named.length === 0 ? [] : [`(../${file})`, ...named];
  }),
};

/** How many of these requests a second the hourly job keeps up with. */
function removable(kind: RequestKind): number {
  const { keys, events } = rowsToRemove(kind);
  return Math.floor(REMOVABLE / (keys + events) / HOUR);
}

/** The limit of one key in one location, from wrangler.toml. */
function requestsAMinute(environment: string): number {
  const settings = readFileSync(join(ROOT, "wrangler.toml"), "utf8");
  const [, limiter = ""] = settings.split(`[[env.${environment}.ratelimits]]`);
  const limit = /limit = ([\d_]+), period = 60/.exec(limiter)?.[1];
  if (limit === undefined) throw new Error(`wrangler.toml has no limit of requests a minute for ${environment}.`);
  return Number(limit.replaceAll("_", ""));
}

function count(value: number): string {
  return value.toLocaleString("en");
}

function money(dollars: number): string {
  return `$${dollars.toFixed(2)}`;
}
